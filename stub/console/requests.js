// The requests, and their filter.

import { html, useMemo } from "./preact.js";
import { findName } from "./creation.js";
import { List } from "./list.js";
import { clockTime, Empty, marked, visible } from "./parts.js";
import { findMatching, isSearched, NO_FILTER, search, showOnly } from "./search.js";
import { set, state } from "./state.js";

const COLUMNS = ["Status", "Method", "Path", "ms", "Time (UTC)"];

export function Requests() {
  const { view, filter, loaded, isPaused, selected } = state;
  const { first, last } = view.requests;
  const count = last - first + 1;
  const total = count.toLocaleString("en");
  const found = findMatching();
  const matching = found.filter(({ number }) => number >= first).length;
  const isLoading = loaded.last === null;
  return html`<section id="requests" aria-labelledby="requests-title">
    <div class="bar">
      <h2 id="requests-title">Requests</h2>
      <span class="count">${!isSearched() ? total : isLoading ? "Loading…" : `${matching} of ${total} match`}</span>
      <button id="pause" type="button" aria-pressed=${String(isPaused)} onClick=${() => set({ isPaused: !isPaused })}>${isPaused ? "Paused" : "Pause"}</button>
      <${Filter} />
    </div>
    <${List} noun="request" key=${`${view.instance} ${filter.chip?.label} ${filter.q}`} columns=${COLUMNS} items=${found.toReversed()}
      first=${first} last=${last} isHeld=${(top) => isPaused || selected?.number <= top} onMove=${({ entry }) => selected?.number && set({ selected: entry })}
      merge=${mergePolls} row=${({ number, entry, numbers }, tabindex) => html`<${Row} key=${number} entry=${entry} polls=${numbers.length}
        tabindex=${tabindex} isOpen=${numbers.includes(selected?.number)} />`}>
      ${!count && html`<${Empty} of=${["/v1/projects"]}
        text=${html`<strong>Waiting for requests…</strong><br />Let your client send them to ${location.origin}, or send this request:`} />`}
      ${count > 0 && isSearched() && !isLoading && !matching && html`<div class="empty"><p>No request matches the filter.</p>
        <p>The filter searches the method, path, status, code, and the names and ids in the bodies. To select by findings, use Coverage.</p>
        <p><button type="button" onClick=${() => refine(NO_FILTER)}>Clear the filter</button></p></div>`}
    <//>
  </section>`;
}

/** Make rows of entries, newest first. Without a filter, equal polls of a deployment share a row. */
function mergePolls(entries) {
  const groups = isSearched() ? entries.map((entry) => [entry]) : [...Map.groupBy(entries, makeKey).values()];
  return groups.map((group) => ({ number: group[0].number, entry: group[0], numbers: group.map(({ number }) => number) }));
}

/** Make the key of a row: equal for polls of a deployment with the same result. A request with a note has its own row. */
function makeKey({ number, operation, method, path, status, fault, unpromised, violations, grease }) {
  const isPlain = !fault && !unpromised.length && !violations.length;
  return operation === "getDeployment" && isPlain ? [method, path, status, grease].join(" ") : number;
}

/** Change the filter by a button that disappears. */
function refine(changes) {
  document.getElementById("filter").focus();
  search(changes);
}

function toRows(event) {
  if (event.key !== "Enter" && event.key !== "ArrowDown") return;
  event.preventDefault(); // Otherwise Enter would open the row.
  document.querySelector("#requests tbody button")?.focus();
}

function Filter() {
  const { q, chip } = state.filter;
  const label = chip && visible(chip.label);
  return html`<div class="field">
    <label for="filter">Filter</label>
    ${chip && html`<button class="chip" type="button" title=${label} aria-label="Remove the filter ${label}"
      onClick=${() => refine({ chip: null })}><span>${label}</span> ✕</button>`}
    <input id="filter" type="search" spellcheck=${false} autocapitalize="off" autocomplete="off" placeholder="POST 4xx shop"
      value=${q} onInput=${(event) => search({ q: event.target.value })} onKeyDown=${toRows} />
  </div>`;
}

const Row = (props) => useMemo(() => row(props), Object.values(props));

function row({ entry, polls, tabindex, isOpen }) {
  const { number, method, path, query, status, code, body, ms, time, fault, grease } = entry;
  const at = clockTime(time);
  const target = visible(query ? `${path}?${query}` : path);
  const name = findName(body);
  const what = [code, name !== null && `"${visible(name)}"`].filter(Boolean).join(" ");
  const showPolls = (event) => {
    event.stopPropagation(); // Otherwise the row would open.
    showOnly(target, { operation: "getDeployment", words: path });
  };
  const notes = { unpromised: entry.unpromised.length, violation: entry.violations.length, fault, grease: grease.length };
  return html`<tr role="row" class=${entry.isNew ? "is-new" : ""} data-number=${number} aria-current=${isOpen ? "true" : null}
    onClick=${() => String(getSelection()) || set({ selected: entry })}>
    <td role="cell" class="mono code" data-class=${String(status)[0]}>${status}</td>
    <td role="cell" class="mono method">${visible(method)}</td>
    <td role="cell" class="mono path" title=${target}>
      <button type="button" tabindex=${tabindex} aria-label=${`${method} ${target} ${status} at ${at}`}>${target}</button>
      <span class="what" title=${what}>${what}</span>
      <span class="notes">
        ${polls > 1 && html`<button class="polls" type="button" tabindex=${tabindex} aria-label="${polls} polls: show each"
          onClick=${showPolls}>${polls.toLocaleString("en")}×</button>`}
        ${Object.keys(notes).filter((kind) => notes[kind]).map((kind) => html`<span class=${kind}>${marked(kind)}</span>`)}
      </span>
    </td>
    <td role="cell" class="mono ms">${ms.toFixed(1)}</td>
    <td role="cell" class="mono time">${at}</td>
  </tr>`;
}
