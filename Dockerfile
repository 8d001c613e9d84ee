# Compiles the server and builds the console.
FROM node:24-slim AS build
WORKDIR /build
COPY package.json package-lock.json ./
# Without install scripts: the image already has Node, and Postgres runs elsewhere.
RUN npm ci --ignore-scripts --no-audit --no-fund
COPY . .
RUN node scripts/build-console.ts && node scripts/build-package.ts

FROM node:24-slim
ENV NODE_ENV=production HOST=0.0.0.0 PORT=4000
WORKDIR /app
COPY package.json package-lock.json ./
# The embedded Postgres is an optional dependency: DATABASE_URL is needed here.
RUN npm ci --omit=dev --omit=optional --ignore-scripts --no-audit --no-fund && npm cache clean --force
# For REDIS_URL.
COPY --from=build /build/node_modules/redis node_modules/redis
COPY --from=build /build/node_modules/@redis node_modules/@redis
COPY LICENSE schema.graphql possible-types.json ./
COPY bin bin
COPY --from=build /build/dist dist
USER node
EXPOSE 4000
# For `serve`. A worker answers on HOLDPOINT_HEALTH_PORT if that is set.
HEALTHCHECK --interval=10s --timeout=3s --start-period=30s --retries=3 \
  CMD ["node", "-e", "fetch(`http://127.0.0.1:${process.env.HOLDPOINT_HEALTH_PORT || process.env.PORT}/readyz`).then((r) => process.exit(r.ok ? 0 : 1), () => process.exit(1))"]
# Not through npm, so that signals reach the server itself.
ENTRYPOINT ["node", "bin/holdpoint.mjs"]
CMD ["serve"]
