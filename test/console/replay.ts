import type { Page } from 'playwright-core'

/** What the replay of a run shows at one moment. */
export interface Moment {
  /** The status of the run. Empty before its first event. */
  readonly run: string
  /** The status of each tool call that is visible, by the name of its tool. */
  readonly calls: Readonly<Record<string, string>>
}

/** Moves the slider from before the first event to the last one, and returns what is shown at each place. */
export async function replay(page: Page): Promise<Moment[]> {
  return page.getByRole('slider', { name: 'Replay' }).evaluate(async (element) => {
    const slider = element as HTMLInputElement
    const panel = slider.closest('section')!
    // React notices a change only if the value was set without its own setter.
    const { set } = Object.getOwnPropertyDescriptor(HTMLInputElement.prototype, 'value')!
    const moments: Moment[] = []
    for (let at = 0; at <= Number(slider.max); at++) {
      set!.call(slider, String(at))
      slider.dispatchEvent(new Event('input', { bubbles: true }))
      await new Promise((resolve) => setTimeout(resolve))
      const calls = [...panel.querySelectorAll('article.call')].map((call) => [
        call.querySelector('h3')!.textContent,
        call.querySelector('.status')!.textContent,
      ])
      moments.push({
        run: panel.querySelector('header > .status')?.textContent ?? '',
        calls: Object.fromEntries(calls) as Record<string, string>,
      })
    }
    return moments
  })
}

/** Leaves out what equals the one before it. */
export function changesOf(values: readonly string[]): string[] {
  return values.filter((value, index) => value !== values[index - 1])
}
