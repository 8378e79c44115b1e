// A list that does not move while somebody reads it.

import { html, useEffect, useRef, useState } from "./preact.js";
import { plural } from "./parts.js";

/**
 * Whether somebody reads a list: points at it, moves through it with the keyboard, or has scrolled
 * it. With it are the properties of the list, and those of the part of it that scrolls.
 */
export function useHeld() {
  const [reasons, setReasons] = useState({});
  const ref = useRef();
  const focused = useRef(null);
  const note = (name, value) =>
    setReasons((known) => (Boolean(known[name]) === value ? known : { ...known, [name]: value }));
  useEffect(() => {
    // The row that had the focus may be gone.
    if (focused.current?.isConnected === false && document.activeElement === document.body) focusQuietly(ref.current);
  });
  return [
    Object.values(reasons).some(Boolean),
    {
      onPointerEnter: (event) => note("isPointed", event.pointerType !== "touch"),
      onPointerLeave: () => note("isPointed", false),
      onKeyDown: (event) => note("isKeyed", event.key !== "Escape" && event.target !== ref.current),
      onfocusin: (event) => {
        focused.current = event.target;
        if (!isQuiet) note("isKeyed", event.target !== ref.current && event.target.matches(":focus-visible"));
      },
      onfocusout: (event) => {
        queueMicrotask(() => event.target.isConnected && (focused.current = null));
        note("isKeyed", false);
      },
    },
    { ref, onScroll: (event) => note("isScrolled", event.currentTarget.scrollTop > 0) },
  ];
}

let isQuiet = false;

/** Move the focus without holding the list in which it then is. */
export function focusQuietly(element) {
  isQuiet = true;
  element?.focus({ preventScroll: true });
  isQuiet = false;
}

/**
 * The list of `items`, each a `row(item, tabindex)`, with what `useHeld` returned, and a button for
 * the `unseen` ones. Tab reaches the row whose key is in the state `stop`, or the first one; the
 * arrow keys, Home and End reach the others, and `onMove` learns of it.
 */
export function List({ noun, columns, items, keyOf, row, held, stop, onMove, unseen, onNew, children }) {
  const [, holding, scrolling] = held;
  const [stopped, setStop] = stop;
  const reached = items.some((item) => keyOf(item) === stopped) ? stopped : items.length && keyOf(items[0]);
  const rows = () => [...scrolling.ref.current.querySelectorAll("tbody tr")];
  const placeOf = (event) => rows().indexOf(event.target.closest("tr") ?? scrolling.ref.current.querySelector("[aria-current]"));
  const onfocusin = (event) => {
    holding.onfocusin(event);
    if (event.target.closest("tbody tr")) setStop(keyOf(items[placeOf(event)]));
  };
  const onKeyDown = (event) => {
    holding.onKeyDown(event);
    const at = placeOf(event);
    const to = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: items.length - 1 }[event.key];
    const next = rows()[to];
    if (at < 0 || !next || event.target.tagName === "SELECT") return;
    event.preventDefault();
    event.stopPropagation();
    (next.cells[event.target.closest("td")?.cellIndex]?.querySelector("button") ?? next.querySelector("button")).focus();
    onMove?.(items[to]);
  };
  const showNew = () => {
    onNew();
    scrolling.ref.current.scrollTop = 0;
    focusQuietly(scrolling.ref.current);
  };
  return html`<div class="list" ...${holding} onfocusin=${onfocusin} onKeyDown=${onKeyDown}>
    <button class="new" type="button" hidden=${!unseen} onClick=${showNew}>${plural(unseen, `new ${noun}`)}</button>
    <div class="scroller" tabindex="0" role="group" aria-label="Newest ${noun}s" ...${scrolling}>
      <table role="table" aria-labelledby="${noun}s-title">
        <thead role="rowgroup">
          <tr role="row">${columns.map(
            (name) => html`<th role="columnheader" scope="col" aria-label=${name === "ms" ? "Milliseconds" : null}>${name}</th>`,
          )}</tr>
        </thead>
        <tbody role="rowgroup">${items.map((item) => row(item, keyOf(item) === reached ? 0 : -1))}</tbody>
      </table>
      ${children}
    </div>
  </div>`;
}
