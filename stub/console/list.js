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

/** The list of `rows` of a `noun`, with what `useHeld` returned, and a button for the `unseen` ones. */
export function List({ noun, columns, rows, held, unseen, onNew, children, ...rest }) {
  const [, holding, scrolling] = held;
  const showNew = () => {
    onNew();
    scrolling.ref.current.scrollTop = 0;
    focusQuietly(scrolling.ref.current);
  };
  return html`<div class="list" ...${holding} ...${rest}>
    <button class="new" type="button" hidden=${!unseen} onClick=${showNew}>${plural(unseen, `new ${noun}`)}</button>
    <div class="scroller" tabindex="0" role="group" aria-label="Newest ${noun}s" ...${scrolling}>
      <table role="table" aria-labelledby="${noun}s-title">
        <thead role="rowgroup">
          <tr role="row">${columns.map(
            (name) => html`<th role="columnheader" scope="col" aria-label=${name === "ms" ? "Milliseconds" : null}>${name}</th>`,
          )}</tr>
        </thead>
        <tbody role="rowgroup">${rows}</tbody>
      </table>
      ${children}
    </div>
  </div>`;
}
