FROM node:24-slim
WORKDIR /app
COPY package.json package-lock.json ./
RUN npm ci --omit=dev --no-audit --no-fund
COPY . .
# Only used without DATABASE_URL: the embedded Postgres keeps its files here.
RUN mkdir /data && chown node:node /data
ENV HOLDPOINT_DATA_DIR=/data
USER node
EXPOSE 4000
# Not through npm, so that signals reach the server itself.
CMD ["node", "src/main.ts"]
