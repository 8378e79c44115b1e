// The requests: a list that does not move while somebody reads it.

import { html, useEffect, useMemo, useRef, useState } from "./console.js?preact";
import { commandOf } from "./console.js?command";
import { Empty } from "./console.js?empty";
import { clockTime, focusQuietly, plural, useHeld, visible } from "./console.js?parts";
import { keep } from "./console.js?poll";
import { announce, set, state } from "./console.js?state";
import { read } from "./console.js?wire";

const PAGE = 100; // entries that are asked for at once
const ROWS = 200; // that are shown at first; scrolling down shows more

export const notesOf = (entry) =>
  [
    ["unpromised", "△", entry.unpromised],
    ["violation", "✕", entry.violations],
    ["fault", "⚡", entry.fault],
    ["grease", "≈", entry.grease],
  ].filter(([, , found]) => found);

function matches(entry, words) {
  const { method, target, status } = entry;
  const notes = notesOf(entry).map(([name]) => name);
  const text = [method, target, ...notes].join(" ").toLowerCase();
  return words.every((word) => {
    if (/^[1-5]xx$/.test(word)) return word[0] === String(status)[0];
    return /^\d{3}$/.test(word) ? word === String(status) : text.includes(word);
  });
}

/** The newest `limit` entries up to number `top`, newest first, without a gap between them. */
function newest(entries, top, limit) {
  const rows = [];
  for (let at = entries.length - 1; at >= 0 && rows.length < limit; at--) {
    const entry = entries[at];
    if (entry.number > top) continue;
    if (rows.length && rows.at(-1).number !== entry.number + 1) break; // a burst of more than a view has
    rows.push(entry);
  }
  return rows;
}

/** Ask for the entries before a number, and keep them. */
async function pageBack(number) {
  const after = Math.max(0, number - 1 - PAGE);
  const found = await read(`/_stub/requests?after=${after}&limit=${number - 1 - after}`);
  if (!found) return;
  keep(found.requests.map(rowOf));
  set({});
}

/** An entry of the journal as the view has it. */
const rowOf = ({ path, query, unpromised, violations, fault, grease, ...entry }) => ({
  ...entry,
  target: query ? `${path}?${query}` : path,
  unpromised: unpromised.length,
  violations: violations.length,
  fault: fault !== null,
  grease: grease.length > 0,
});

export const list = { rows: [] }; // the entries that are shown, newest first

export function Requests() {
  const { entries, first, last, filter, isPaused, selected } = state;
  const [isRead, holding, scrolling] = useHeld();
  const [limit, setLimit] = useState(ROWS);
  const [stop, setStop] = useState(0); // the row that Tab reaches
  const top = useRef(last);
  const asked = useRef(0);
  if (!(isRead || isPaused || selected?.number) || top.current > last) top.current = last;

  const words = filter.toLowerCase().split(/\s+/).filter(Boolean);
  const known = useMemo(() => newest(entries, top.current, limit), [entries, top.current, limit]);
  const rows = (list.rows = words.length ? known.filter((entry) => matches(entry, words)) : known);
  const oldest = known.at(-1)?.number ?? last + 1;
  useEffect(() => {
    if (oldest <= first || known.length >= limit || asked.current === oldest) return;
    asked.current = oldest;
    pageBack(oldest).then(() => (asked.current = 0));
  }, [oldest, first, limit]);
  useEffect(() => {
    if (filter) announce(`${plural(rows.length, "request")} match${rows.length === 1 ? "es" : ""} the filter`);
  }, [filter]);

  const unseen = words.length
    ? entries.filter((entry) => entry.number > top.current && matches(entry, words)).length
    : last - top.current;
  const count = last - first + 1;
  const open = (number) => set({ selected: { number } });
  const current = rows.some((row) => row.number === stop) ? stop : rows[0]?.number;

  const onScroll = (event) => {
    scrolling.onScroll(event);
    const { scrollTop, scrollHeight, clientHeight } = event.currentTarget;
    if (scrollTop + 3 * clientHeight > scrollHeight && known.length >= limit) setLimit(limit + PAGE);
    else if (!scrollTop) setLimit(ROWS);
  };
  const showNew = () => {
    top.current = last;
    scrolling.ref.current.scrollTop = 0;
    focusQuietly(scrolling.ref.current);
    set({});
  };
  const onKeyDown = (event) => {
    const at = rows.findIndex((row) => row.number === Number(event.target.closest("tr")?.dataset.number));
    const to = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: rows.length - 1 }[event.key];
    holding.onKeyDown(event);
    if (at < 0 || !rows[to]) return;
    event.preventDefault();
    setStop(rows[to].number);
    scrolling.ref.current.querySelector(`[data-number="${rows[to].number}"] button`).focus();
    if (selected?.number) open(rows[to].number);
  };

  return html`<section id="requests" aria-labelledby="requests-title">
    <div class="bar">
      <h2 id="requests-title">Requests</h2>
      <span class="count">${count.toLocaleString("en")}${rows.length < count && rows.length ? ` · ${rows.length} shown` : ""}</span>
      <div class="field">
        <label for="filter">Filter</label>
        <input id="filter" type="text" spellcheck=${false} autocapitalize="off" autocomplete="off"
          placeholder="POST 4xx" value=${filter} onInput=${(event) => set({ filter: event.target.value })} />
      </div>
      <button id="pause" type="button" aria-pressed=${String(isPaused)} onClick=${() => set({ isPaused: !isPaused })}>Pause</button>
    </div>
    <div class="list" ...${holding} onKeyDown=${onKeyDown}>
    <button class="new" type="button" hidden=${!unseen} onClick=${showNew}>${plural(unseen, "new request")}</button>
    <div class="scroller" tabindex="0" role="group" aria-label="Newest requests" ...${scrolling} onScroll=${onScroll}>
      <table role="table" aria-labelledby="requests-title">
        <thead role="rowgroup">
          <tr role="row">${["Status", "Method", "Path", "ms", "Time (UTC)"].map(
            (name) => html`<th role="columnheader" scope="col" aria-label=${name === "ms" ? "Milliseconds" : null}>${name}</th>`,
          )}</tr>
        </thead>
        <tbody role="rowgroup">
          ${rows.map((entry) => html`<${Row} key=${entry.number} entry=${entry} open=${open}
            isStop=${entry.number === current} isOpen=${entry.number === selected?.number} />`)}
        </tbody>
      </table>
      ${!count && html`<${Empty} command=${commandOf("/v1/projects")}
        text="No requests yet. Let your client send them to ${location.origin}, or send one:" />`}
      ${count > 0 && !rows.length && html`<div class="empty"><p>No request matches the filter.</p></div>`}
    </div>
    </div>
  </section>`;
}

function Row({ entry, isStop, isOpen, open }) {
  const { number, method, target, status, ms, time } = entry;
  const at = clockTime(time);
  return useMemo(
    () => html`<tr role="row" class=${entry.isNew ? "is-new" : ""} data-number=${number} aria-current=${isOpen ? "true" : null}
      onClick=${() => String(getSelection()) || open(number)}>
      <td role="cell" class="mono code" data-class=${String(status)[0]}>${status}</td>
      <td role="cell" class="mono method">${visible(method)}</td>
      <td role="cell" class="mono path">
        <button type="button" tabindex=${isStop ? 0 : -1} aria-label=${`${method} ${visible(target)} ${status} at ${at}`}>${visible(target)}</button>
        <span class="notes">${notesOf(entry).map(([name, symbol]) => html`<span class=${name}>${symbol} ${name}</span>`)}</span>
      </td>
      <td role="cell" class="mono ms">${ms.toFixed(1)}</td>
      <td role="cell" class="mono time">${at}</td>
    </tr>`,
    [entry, isStop, isOpen],
  );
}
