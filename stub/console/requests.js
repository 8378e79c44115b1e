// The requests: a list that does not move while somebody reads it.

import { html, useEffect, useMemo, useRef, useState } from "./preact.js";
import { commandOf } from "./command.js";
import { List, useHeld } from "./list.js";
import { clockTime, Empty, marked, visible } from "./parts.js";
import { isSearched, NOTHING, PAGE, search, searchBack } from "./search.js";
import { set, state } from "./state.js";

const ROWS = 200; // that are shown at first; scrolling down shows more

const notesOf = ({ unpromised, violations, fault, grease }) =>
  Object.entries({ unpromised, violation: violations, fault, grease }).filter(([, found]) => found);

export const list = { rows: [], filter: null, instance: "" }; // what is shown, newest first

/** Open the request that is so many rows below the open one. */
export function step(by) {
  const at = list.rows.findIndex((row) => row.number === state.selected?.number);
  const next = at < 0 ? undefined : list.rows[at + by];
  if (!next) return;
  set({ selected: { number: next.number } });
  document.querySelector(`[data-number="${next.number}"]`)?.scrollIntoView({ block: "nearest" });
}

export function Requests() {
  const { first, last, filter, found, isPaused, selected, epoch } = state;
  const held = useHeld();
  const [isRead, holding, scrolling] = held;
  const [limit, setLimit] = useState(ROWS);
  const stop = useState(0);
  const [, redraw] = useState({});
  const top = useRef(last);
  const isFiltered = isSearched();
  const isHeld = (isRead || isPaused || selected?.number <= top.current) && top.current <= last;
  if (!isHeld || list.filter !== filter) top.current = last; // a search begins now

  const known = found.rows.filter(({ number }) => number <= top.current).slice(-limit).reverse();
  // The journal may drop what somebody reads.
  const { instance } = state.view;
  const isKept = isHeld && list.filter === filter && list.instance === instance && list.rows.length > known.length;
  const rows = isKept ? list.rows : known;
  Object.assign(list, { rows, filter, instance });
  useEffect(() => void (rows.length < limit && searchBack()), [rows.length < limit, found.oldest, filter, epoch]);

  const unseen = isFiltered ? found.rows.filter(({ number }) => number > top.current).length : last - top.current;
  const count = last - first + 1;
  const total = count.toLocaleString("en");
  const isAll = isFiltered ? found.isWhole && rows.length < limit : rows.length >= count;
  const matching = isAll || rows.length ? `${rows.length}${isAll ? "" : " or more"} of ${total} match` : "Searching…";

  const onScroll = (event) => {
    scrolling.onScroll(event);
    const { scrollTop, scrollHeight, clientHeight } = event.currentTarget;
    if (scrollTop + 3 * clientHeight > scrollHeight && rows.length >= limit) setLimit(limit + PAGE);
    else if (!scrollTop) setLimit(ROWS);
  };
  const showNew = () => {
    top.current = last;
    redraw({});
  };
  const onMove = ({ number }) => selected?.number && set({ selected: { number } });

  return html`<section id="requests" aria-labelledby="requests-title">
    <div class="bar">
      <h2 id="requests-title">Requests</h2>
      <span class="count">${isFiltered ? matching : `${total}${isAll ? "" : ` · ${rows.length} shown`}`}</span>
      <button id="pause" type="button" aria-pressed=${String(isPaused)} onClick=${() => set({ isPaused: !isPaused })}>${isPaused ? "Paused" : "Pause"}</button>
      <${Filter} />
    </div>
    <${List} noun="request" columns=${["Status", "Method", "Path", "ms", "Time (UTC)"]} held=${[isRead, holding, { ...scrolling, onScroll }]}
      stop=${stop} onMove=${onMove} unseen=${unseen} onNew=${showNew} items=${rows} keyOf=${(entry) => entry.number}
      row=${(entry, tabindex) => html`<${Row} key=${entry.number} entry=${entry} tabindex=${tabindex} isOpen=${entry.number === selected?.number} />`}>
      ${!count && html`<${Empty} command=${commandOf("/v1/projects")}
        text=${html`<strong>Waiting for requests…</strong><br />Let your client send them to ${location.origin}, or send one:`} />`}
      ${count > 0 && isFiltered && found.isWhole && !rows.length && html`<div class="empty"><p>No request matches the filter.</p>
        <p>Its words are searched in the method, path, status, code, and names and ids of the bodies. Coverage selects by findings.</p>
        <p><button type="button" onClick=${() => refine(NOTHING)}>Clear the filter</button></p></div>`}
    <//>
  </section>`;
}

/** Change the filter by a button that is gone then. */
function refine(changes) {
  document.getElementById("filter").focus();
  search(changes);
}

function toRows(event) {
  if (event.key !== "Enter" && event.key !== "ArrowDown") return;
  event.preventDefault(); // Enter would open the row
  document.querySelector("#requests tbody button")?.focus();
}

function Filter() {
  const { q, chip } = state.filter;
  const label = chip && visible(chip.label);
  return html`<div class="field">
    <label for="filter">Filter</label>
    ${chip && html`<button class="chip" type="button" title=${label} aria-label="Remove the filter ${label}"
      onClick=${() => refine({ chip: null })}><span>${label}</span> ✕</button>`}
    <input id="filter" type="search" spellcheck=${false} autocapitalize="off" autocomplete="off" maxlength="256" placeholder="POST 4xx shop"
      value=${q} onInput=${(event) => search({ q: event.target.value })} onKeyDown=${toRows} />
  </div>`;
}

function Row({ entry, tabindex, isOpen }) {
  const { number, method, target, status, code, name, ms, time } = entry;
  const at = clockTime(time);
  const what = [code, name !== null && `"${visible(name)}"`].filter(Boolean).join(" ");
  return useMemo(
    () => html`<tr role="row" class=${entry.isNew ? "is-new" : ""} data-number=${number} aria-current=${isOpen ? "true" : null}
      onClick=${() => String(getSelection()) || set({ selected: { number } })}>
      <td role="cell" class="mono code" data-class=${String(status)[0]}>${status}</td>
      <td role="cell" class="mono method">${visible(method)}</td>
      <td role="cell" class="mono path" title=${visible(target)}>
        <button type="button" tabindex=${tabindex} aria-label=${`${method} ${visible(target)} ${status} at ${at}`}>${visible(target)}</button>
        <span class="what" title=${what}>${what}</span>
        <span class="notes">${notesOf(entry).map(([kind]) => html`<span class=${kind}>${marked(kind)}</span>`)}</span>
      </td>
      <td role="cell" class="mono ms">${ms.toFixed(1)}</td>
      <td role="cell" class="mono time">${at}</td>
    </tr>`,
    [entry, tabindex, isOpen],
  );
}
