// The inspector: a panel beside the list. Its actions stay visible.

import { html, useEffect, useLayoutEffect, useRef } from "./preact.js";
import { focusQuietly } from "./list.js";
import { visible } from "./parts.js";
import { open } from "./search.js";
import { announce, set } from "./state.js";

export const close = () => set({ selected: null });

export function Inspector({ status, title, actions, opener, children }) {
  const heading = useRef();
  const openedBy = useRef();
  openedBy.current = opener; // a CSS selector
  const returnFocus = () => document.activeElement === document.body
    && focusQuietly(document.querySelector(openedBy.current) ?? document.querySelector("#requests .scroller"));
  useLayoutEffect(() => {
    if (matchMedia("(max-width: 63.99rem)").matches) heading.current.focus(); // It covers the page.
    return () => queueMicrotask(returnFocus);
  }, []);
  useEffect(() => announce(visible(`${status ?? ""} ${title}`.trim())), [status, title]);
  const onKeyDown = (event) => {
    const row = document.querySelector("#requests [aria-current]");
    const next = { ArrowDown: row?.nextSibling, ArrowUp: row?.previousSibling }[event.key];
    if (!next || event.target.closest("pre")) return;
    event.preventDefault();
    open(Number(next.dataset.number));
    next.scrollIntoView({ block: "nearest" });
  };
  return html`<aside id="inspector" aria-labelledby="inspector-title" onKeyDown=${onKeyDown}>
    <div class="head">
      <div class="bar">
        <h2 id="inspector-title" tabindex="-1" ref=${heading} title=${visible(title)}>
          ${status !== undefined && html`<span class="code" data-class=${String(status)[0]}>${status}</span> `}${visible(title)}</h2>
        <button type="button" onClick=${close}>Close</button>
      </div>
      <div class="bar">${actions}</div>
    </div>
    <div class="content" tabindex="0" role="group" aria-label="Details">${children}</div>
  </aside>`;
}
