// The console of the stub: polls the view of one world, and shows it.
// Whatever a client sent becomes a text node, never markup.

const SECOND = 1000;
const LONGEST_PAUSE = 5 * SECOND; // between two polls while the server is gone
const TIMEOUT = 10 * SECOND;
const MAX_BODY = 4096; // bytes of a body in the journal
const MAX_ENTRIES = 1000; // kept for the filter
const MAX_ROWS = 200; // in the table
const MAX_HELD_ROWS = 500; // in the table while somebody reads it
const SENDABLE = /^[\x20-\x7e]+$/; // in a header
const WORLD_RULE = "The name of a world has 1 to 64 of A-Z a-z 0-9 _ -";
const DEFAULT_TOKEN = "dev-token";

const $ = (id) => document.getElementById(id);

function element(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  made.append(...children);
  return made;
}

/** Write a text only if it differs, so that nothing is laid out again. */
function setText(target, text) {
  if (target.textContent !== text) target.textContent = text;
}

const plural = (count, noun) => `${count.toLocaleString("en")} ${noun}${count === 1 ? "" : "s"}`;
const clockTime = (timestamp) => timestamp.slice(11, 23);
const dateAndTime = (timestamp) => timestamp.slice(0, 19).replace("T", " ");

// The token and the world

const session = { token: "", world: "" };

function loadSession() {
  session.token = sessionStorage.getItem("token") ?? DEFAULT_TOKEN;
  session.world = sessionStorage.getItem("world") ?? "";
  readFragment();
}

/** Take token and world from the fragment, and remove it from the address. */
function readFragment() {
  const fragment = location.hash.slice(1);
  if (!fragment) return;
  history.replaceState(null, "", location.pathname + location.search);
  const given = {};
  for (const part of fragment.split("&")) {
    const [name, ...rest] = part.split("=");
    given[name] = decode(rest.join("=")); // a token may end with =
  }
  if (given.token) saveSession(given.token, given.world ?? "");
  else if (given.world !== undefined) saveSession(session.token, given.world);
}

function decode(text) {
  try {
    return decodeURIComponent(text); // unlike URLSearchParams, it leaves a + alone
  } catch {
    return text;
  }
}

function saveSession(token, world) {
  Object.assign(session, { token, world });
  sessionStorage.setItem("token", token);
  sessionStorage.setItem("world", world);
}

const worldSuffix = () => (session.world ? `.${session.world}` : "");

// Requests

/** Send a request with the token. Rejects if the server is gone. */
async function send(method, path, document, signal = AbortSignal.timeout(4 * TIMEOUT)) {
  const headers = { Authorization: `Bearer ${session.token}${worldSuffix()}` };
  let body;
  if (document !== undefined) {
    headers["Content-Type"] = "application/json";
    body = JSON.stringify(document);
  }
  return fetch(path, {
    method,
    headers,
    body,
    signal,
    cache: "no-store",
    credentials: "omit",
    redirect: "error",
    referrerPolicy: "no-referrer",
  });
}

/** What an error response says, in the service's own words. */
async function reasonOf(response) {
  let problem = null;
  try {
    problem = await response.json();
  } catch {
    // The response has no JSON.
  }
  const title = problem?.title ?? response.statusText;
  const lines = [`${response.status} ${title}: ${problem?.detail ?? "no detail"}`];
  for (const error of Array.isArray(problem?.errors) ? problem.errors : []) {
    lines.push(`${error.pointer || "the body"} ${error.detail}`);
  }
  return lines.join("\n");
}

/** Send a request of a control. Shows an error at `place`; returns whether there was none. */
async function act(method, path, document, place) {
  setText(place, "");
  try {
    const response = await send(method, path, document);
    if (!response.ok) setText(place, await reasonOf(response));
    return response.ok;
  } catch {
    setText(place, "The server did not respond. Try again when it is back.");
    return false;
  } finally {
    poll();
  }
}

// Tables whose rows do not move while somebody reads them

/** A table in a scroller, newest row first. */
class LiveTable {
  constructor(section, template, { keyOf, fill, onRelease }) {
    this.scroller = section.querySelector(".scroller");
    this.body = section.querySelector("tbody");
    this.spacer = section.querySelector(".spacer");
    this.template = $(template).content.firstElementChild;
    Object.assign(this, { keyOf, fill, onRelease });
    this.rows = new Map();
    this.shift = 0; // how far new rows have scrolled the table
    this.isPointed = false;
    this.scroller.addEventListener("pointerenter", (event) => {
      this.isPointed = event.pointerType !== "touch";
    });
    this.scroller.addEventListener("pointerleave", () => {
      this.isPointed = false;
      this.release();
    });
    this.scroller.addEventListener("focusout", () => requestAnimationFrame(() => this.release()));
    this.scroller.addEventListener("scroll", () => {
      this.shift = Math.min(this.shift, this.scroller.scrollTop);
      if (!this.scroller.scrollTop) this.release();
    });
  }

  /** Whether somebody points at a row, has the focus in the table, or has scrolled it. */
  get isHeld() {
    return (
      this.isPointed ||
      this.scroller.matches(":focus-visible") ||
      this.scroller.querySelector(":focus-visible") !== null ||
      this.scroller.scrollTop > this.shift + 1
    );
  }

  /** Show the newest rows again, unless the table is held. */
  release() {
    if (this.isHeld) return;
    this.toTop();
    this.onRelease();
  }

  toTop() {
    this.shift = 0;
    this.spacer.style.height = "0";
    this.scroller.scrollTop = 0;
  }

  clear() {
    this.rows.clear();
    this.body.replaceChildren();
    this.toTop();
  }

  /** Show these items. While the table is held, rows that are in view stay where they are. */
  show(items) {
    const isHeld = this.isHeld && this.rows.size > 0;
    const anchor = this.body.firstElementChild;
    const before = isHeld ? anchor.getBoundingClientRect().top : 0;
    const isFull = isHeld && this.rows.size > MAX_HELD_ROWS;
    const added = this.rows.size ? [] : null;
    let next = anchor;
    for (const item of items) {
      const key = this.keyOf(item);
      let row = this.rows.get(key);
      if (!row) {
        if (isFull) continue;
        row = this.template.cloneNode(true);
        this.rows.set(key, row);
        row.dataset.key = key;
        added?.push(row);
      }
      if (row === next) next = next.nextElementSibling;
      else this.body.insertBefore(row, next);
      this.fill(row, item);
    }
    if (isHeld) {
      this.scrollBy(anchor.getBoundingClientRect().top - before);
    } else {
      while (next) {
        const row = next;
        next = row.nextElementSibling;
        this.rows.delete(this.keyOfRow(row));
        row.remove();
      }
    }
    // Many at once would only flicker, and cost much.
    if (added && added.length <= 5) added.forEach((row) => row.classList.add("is-new"));
  }

  keyOfRow(row) {
    const key = row.dataset.key;
    return this.rows.has(key) ? key : Number(key);
  }

  /** Scroll by what was added above, so that the row under the pointer stays there. */
  scrollBy(height) {
    if (!height) return;
    const top = this.scroller.scrollTop + height;
    const missing = top + this.scroller.clientHeight - this.scroller.scrollHeight;
    if (missing > 0) {
      this.spacer.style.height = `${this.spacer.offsetHeight + Math.ceil(missing)}px`;
    }
    this.shift += height;
    this.scroller.scrollTop = top;
  }
}

function showNew(button, count, noun) {
  button.hidden = !count;
  if (count) setText(button, plural(count, `new ${noun}`));
}

// Projects

const SYMBOLS = { queued: "○", building: "◐", succeeded: "✓", failed: "✕", canceled: "⊘" };

const projects = {
  newest: [],
  count: 0,
  seen: null, // the ids that were in view when nobody held the table
  table: new LiveTable($("projects"), "project-row", {
    keyOf: (project) => project.id,
    fill: fillProject,
    onRelease: () => showProjects(),
  }),
};

function fillProject(row, project) {
  const [name, id, created, deployment, state] = row.children;
  if (!id.firstChild) {
    setText(name, project.name);
    name.title = project.name;
    setText(id, project.id);
    id.title = project.id;
    setText(created, dateAndTime(project.created_at));
  }
  setText(deployment, project.deployment);
  deployment.title = project.deployment;
  const pill = state.firstElementChild;
  const status = project.status ?? "none";
  if (pill.dataset.status === status) return;
  if (pill.dataset.status) pill.classList.add("has-changed");
  pill.dataset.status = status;
  setText(pill, `${SYMBOLS[status] ?? "•"} ${status}`);
}

function showProjects() {
  const { table, newest, count } = projects;
  if (!table.isHeld || !projects.seen) projects.seen = new Set(newest.map((each) => each.id));
  table.show(newest);
  const unseen = newest.filter((each) => !projects.seen.has(each.id)).length;
  showNew($("projects-new"), unseen, "project");
  const shown = count > newest.length ? ` · newest ${newest.length} shown` : "";
  setText($("projects-count"), `${count.toLocaleString("en")}${shown}`);
  $("projects-empty").hidden = count > 0;
}

$("projects-new").addEventListener("click", () => {
  projects.table.toTop();
  projects.seen = null;
  showProjects();
});

$("create").addEventListener("submit", async (event) => {
  event.preventDefault();
  const field = $("name");
  const name = field.value;
  const isDone = await act("POST", "/v1/projects", { name }, $("create-error"));
  field.setAttribute("aria-invalid", String(!isDone));
  if (isDone && field.value === name) field.value = "";
});

// Requests

const requests = {
  entries: [], // oldest first
  frozen: null, // the entries at the time of the pause
  last: 0,
  seen: 0, // the highest number that was shown
  filter: [],
  table: new LiveTable($("requests"), "request-row", {
    keyOf: (entry) => entry.number,
    fill: fillRequest,
    onRelease: () => showRequests(),
  }),
};

function notesOf(entry) {
  const notes = [];
  if (entry.unpromised) notes.push(["unpromised", "△ unpromised"]);
  if (entry.violations) notes.push(["violation", "✕ violation"]);
  if (entry.fault) notes.push(["fault", "⚡ fault"]);
  if (entry.grease) notes.push(["grease", "≈ grease"]);
  return notes;
}

function fillRequest(row, entry) {
  const [time, method, path, code, ms, notes] = row.children;
  if (time.firstChild) return; // an entry never changes
  time.textContent = clockTime(entry.time);
  method.textContent = entry.method;
  path.firstElementChild.textContent = entry.target;
  code.textContent = entry.status;
  code.dataset.class = String(entry.status)[0];
  ms.textContent = entry.ms.toFixed(1);
  notes.append(...notesOf(entry).map(([kind, text]) => element("span", { class: kind }, text)));
}

function matches(entry) {
  if (!requests.filter.length) return true;
  const notes = notesOf(entry).map(([, text]) => text);
  const text = [entry.method, entry.target, entry.status, ...notes].join(" ").toLowerCase();
  return requests.filter.every((word) => text.includes(word));
}

function showRequests() {
  const { table, frozen, entries, last } = requests;
  if (!frozen && !table.isHeld) requests.seen = last;
  const wanted = [];
  const source = frozen ?? entries;
  for (let at = source.length - 1; at >= 0 && wanted.length < MAX_ROWS; at--) {
    if (matches(source[at])) wanted.push(source[at]);
  }
  table.show(wanted);
  const rows = table.body.children;
  const isEmpty = rows.length === 0;
  $("requests-empty").hidden = !isEmpty || source.length > 0;
  $("requests-unmatched").hidden = !isEmpty || source.length === 0;
  const unseen = requests.filter.length
    ? entries.filter((entry) => entry.number > requests.seen && matches(entry)).length
    : last - requests.seen;
  showNew($("requests-new"), unseen, "request");
  const total = last.toLocaleString("en");
  const shown = last > rows.length && !isEmpty ? ` · ${rows.length} shown` : "";
  setText($("requests-count"), `${total}${shown}`);
  moveTabStop(document.activeElement?.closest("#requests tbody tr") ?? rows[0]);
}

/** Let Tab reach one row; the arrow keys reach the others. */
function moveTabStop(row) {
  const button = row?.querySelector("button");
  if (!button || button === requests.tabStop) return;
  requests.tabStop?.setAttribute("tabindex", "-1");
  button.setAttribute("tabindex", "0");
  requests.tabStop = button;
}

function showNewRequests() {
  if (requests.frozen) requests.frozen = [...requests.entries];
  requests.seen = requests.last;
  requests.table.toTop();
  showRequests();
}

$("requests-new").addEventListener("click", showNewRequests);

$("pause").addEventListener("click", () => {
  const isPaused = !requests.frozen;
  requests.frozen = isPaused ? [...requests.entries] : null;
  $("pause").setAttribute("aria-pressed", String(isPaused));
  if (isPaused) requests.seen = requests.last;
  else showNewRequests();
});

$("filter").addEventListener("input", () => {
  requests.filter = $("filter").value.toLowerCase().split(/\s+/).filter(Boolean);
  requests.table.clear();
  showRequests();
});

requests.table.body.addEventListener("click", (event) => {
  const row = event.target.closest("tr");
  if (row && !String(getSelection())) openRequest(Number(row.dataset.key));
});

requests.table.body.addEventListener("keydown", (event) => {
  const row = event.target.closest("tr");
  const target = {
    ArrowDown: row?.nextElementSibling,
    ArrowUp: row?.previousElementSibling,
    Home: row?.parentElement.firstElementChild,
    End: row?.parentElement.lastElementChild,
  }[event.key];
  if (!target) return;
  event.preventDefault();
  moveTabStop(target);
  target.querySelector("button").focus();
});

// The dialog of one request

let command = "";

async function openRequest(number) {
  const content = $("request-content");
  setText($("request-title"), `Request ${number}`);
  content.replaceChildren(element("p", {}, "Loading…"));
  setText($("copied"), "");
  command = "";
  $("copy").disabled = true;
  $("request").showModal();
  $("request-title").focus();
  let entry = null;
  try {
    const response = await send("GET", `/_stub/requests?after=${number - 1}&limit=1`);
    [entry] = response.ok ? (await response.json()).requests : [];
  } catch {
    // The text below reports it.
  }
  if ($("request-title").textContent !== `Request ${number}`) return; // another was opened
  if (entry?.number !== number) {
    content.replaceChildren(element("p", {}, "The journal no longer has this request."));
    return;
  }
  command = curlOf(entry);
  $("copy").disabled = false;
  setText($("request-title"), `${entry.method} ${entry.path}`);
  content.replaceChildren(...describe(entry));
}

function describe(entry) {
  const facts = {
    Response: `${entry.status}${entry.code ? ` ${entry.code}` : ""} after ${entry.ms.toFixed(1)} ms`,
    Time: `${dateAndTime(entry.time)} UTC`,
    Operation: entry.operation ?? "none",
  };
  if (entry.query) facts.Query = entry.query;
  if (entry.fault) facts.Fault = entry.fault;
  if (entry.grease.length) facts.Grease = entry.grease.join(", ");
  const parts = [list(Object.entries(facts))];
  const reasons = [
    ...entry.unpromised.map((what) => element("li", { class: "unpromised" }, `△ unpromised: ${what}`)),
    ...entry.violations.map((what) => element("li", { class: "violation" }, `✕ violation: ${what}`)),
  ];
  if (reasons.length) parts.push(element("h3", {}, "Reasons"), element("ul", {}, ...reasons));
  parts.push(element("h3", {}, "Headers"), list(Object.entries(entry.headers)));
  parts.push(element("h3", {}, "Body"));
  parts.push(entry.body ? code(entry.body, "Body") : element("p", { class: "hint" }, "No body."));
  parts.push(element("h3", {}, "As curl"), code(command, "As curl"));
  if (isCut(entry)) {
    const hint = "The journal has only the beginning of the body: save the whole as the file body.";
    parts.push(element("p", { class: "hint" }, hint));
  }
  return parts;
}

const code = (text, label) =>
  element("pre", { tabindex: "0", role: "group", "aria-label": label }, element("code", {}, text));

function list(pairs) {
  const rows = pairs.map(([name, value]) =>
    element("div", {}, element("dt", {}, name), element("dd", {}, value)),
  );
  return element("dl", {}, ...rows);
}

$("copy").addEventListener("click", async () => {
  setText($("copied"), (await copy(command, $("request"))) ? "Copied" : "Not copied: select it above");
});
$("request-close").addEventListener("click", () => $("request").close());

/** Copy a text. A page that is not from a secure origin has no `navigator.clipboard`. */
async function copy(text, parent) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    const focused = document.activeElement;
    const area = element("textarea", { "aria-label": "Command" });
    area.value = text;
    parent.append(area);
    area.select();
    const isCopied = document.execCommand("copy");
    area.remove();
    focused?.focus();
    return isCopied;
  }
}

// curl

// The fields that curl, or a browser on its own, adds to each request.
const LEFT_OUT = /^(host|content-length|connection|transfer-encoding|expect|user-agent|accept-encoding|accept-language|referer|sec-.*|cache-control|pragma|dnt|priority)$/i;

const quote = (text) =>
  /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`;
const authorization = () => `-H "Authorization: Bearer $STUB_TOKEN${worldSuffix()}"`;

/** The command that repeats a request. `$STUB_TOKEN` is the token without a world. */
function curlOf(entry) {
  const { method, path, query, headers, body } = entry;
  const parts = ["curl"];
  if (method === "HEAD") parts.push("--head");
  else if (method !== "GET" || body) parts.push(`-X ${quote(method)}`);
  if (/\/\.{1,2}(\/|$)/.test(path)) parts.push("--path-as-is");
  const names = Object.keys(headers).map((name) => name.toLowerCase());
  for (const [name, value] of Object.entries(headers)) {
    if (name === "Authorization") parts.push(authorization());
    else if (LEFT_OUT.test(name) || value === "***" || (name === "Accept" && value === "*/*")) continue;
    else parts.push(`-H ${quote(value ? `${name}: ${value}` : `${name};`)}`);
  }
  if (body) {
    if (!names.includes("content-type")) parts.push("-H 'Content-Type:'");
    parts.push(isCut(entry) ? "--data-binary @body" : `--data-raw ${quote(body)}`);
  }
  parts.push(quote(location.origin + encodePath(path) + (query ? `?${encodeRest(query)}` : "")));
  return parts.join(" \\\n  ");
}

/** A decoded path as it is sent. %2F and %25 stay encoded in the journal. */
function encodePath(path) {
  return encodeRest(path.replace(/%(?!2f|25)/gi, "%25")).replaceAll("?", "%3F");
}

/** Whether the journal has only the beginning of a body. */
function isCut({ headers, body }) {
  const size = new TextEncoder().encode(body).length;
  return size > MAX_BODY - 4 && Number(headers["Content-Length"] ?? Infinity) > MAX_BODY;
}

/** Encode what a URL cannot contain, and what curl or a shell gives a meaning. */
const encodeRest = (text) => text.replace(/[^\w!$&()*+,\-./:;=?@%~]/gu, encodeURIComponent);

function fillEmpty(place, text, parts) {
  const shown = ["curl", authorization(), ...parts].join(" ");
  const button = element("button", { type: "button" }, "Copy command");
  const copied = element("span", { class: "hint", "aria-live": "polite" });
  button.addEventListener("click", async () => {
    setText(copied, (await copy(shown, place)) ? "Copied" : "Not copied: select it above");
  });
  place.replaceChildren(
    element("p", {}, text),
    code(shown, "Command"),
    element("p", {}, button, " ", copied),
  );
}

function fillEmptyStates() {
  const at = location.origin;
  const json = '-H "Content-Type: application/json"';
  fillEmpty($("projects-empty"), "No projects yet. Create one above, or let your client do it:", [
    json, `-d '{"name": "shop"}'`, `${at}/v1/projects`,
  ]);
  fillEmpty($("requests-empty"), `No requests yet. Let your client send them to ${at}, or send one:`, [
    `${at}/v1/projects`,
  ]);
  fillEmpty($("faults-empty"), "No faults wait. Add one above, or from a test:", [
    json, `-d '{"status": 503, "times": 1}'`, `${at}/_stub/faults`,
  ]);
  fillEmpty($("coverage-empty"), "No outcome is met yet. Let your client send requests, or ask for an outcome:", [
    '-H "Prefer: code=507"', `${at}/v1/projects`,
  ]);
}

// Controls

let waiting = 0; // switches of grease on their way
let switchedOn = { axes: [] };

for (const button of document.querySelectorAll("[data-advance]")) {
  button.addEventListener("click", () => {
    act("POST", "/_stub/clock", { advance: Number(button.dataset.advance) }, $("controls-error"));
  });
}

$("grease").addEventListener("change", async () => {
  const isOn = $("grease").checked;
  waiting++;
  const { axes, parts } = isOn ? switchedOn : { axes: [] };
  const isDone = await act("PUT", "/_stub/grease", { axes, parts }, $("controls-error"));
  waiting--;
  if (!isDone) $("grease").checked = !isOn;
});

$("reset").addEventListener("click", () => $("confirm").showModal());
$("confirm-cancel").addEventListener("click", () => $("confirm").close());
$("confirm-reset").addEventListener("click", () => {
  $("confirm").close();
  act("POST", "/_stub/reset", undefined, $("controls-error"));
});

$("fault").addEventListener("submit", async (event) => {
  event.preventDefault();
  const fault = {};
  if ($("fault-operation").value) fault.operation = $("fault-operation").value;
  for (const name of ["status", "delay", "times"]) {
    const field = $(`fault-${name}`);
    if (field.validity.badInput) fault[name] = "not a number";
    else if (field.value) fault[name] = Number(field.value);
  }
  if (await act("POST", "/_stub/faults", fault, $("fault-error"))) $("fault").reset();
});
$("clear-faults").addEventListener("click", () => {
  act("DELETE", "/_stub/faults", undefined, $("fault-error"));
});

function describeFault(fault) {
  const what = fault.operation ?? `${fault.method ?? "any method"} ${fault.path ?? "any path"}`;
  const effects = [];
  if (fault.status !== undefined) effects.push(`status ${fault.status}`);
  if (fault.body !== undefined) effects.push(`body ${fault.content_type ?? "text/plain"}`);
  if (fault.delay !== undefined) effects.push(`delay ${fault.delay} s`);
  if (fault.cut !== undefined) effects.push(`cut after ${fault.cut} bytes`);
  return [what, effects.join(", "), fault.remaining === null ? "all" : `${fault.remaining} left`];
}

function showControls({ clock, faults, grease }) {
  setText($("now"), `${dateAndTime(clock.now)} UTC`);
  $("now").dateTime = clock.now;
  const ahead = clock.ahead ? `${clock.ahead.toLocaleString("en")} s ahead` : "";
  setText($("ahead"), [ahead, clock.frozen ? "stands still" : ""].filter(Boolean).join(", ") || "real time");
  if (!waiting) {
    $("grease").checked = grease.axes.length > 0;
    switchedOn = grease.axes.length ? grease : grease.default;
  }
  const items = faults.first.map((fault) => {
    const [what, effect, left] = describeFault(fault);
    return element("li", { "data-id": fault.id }, element("b", {}, what), ` ${effect} `, element("span", {}, left));
  });
  if (faults.count > faults.first.length) {
    items.push(element("li", {}, `and ${plural(faults.count - faults.first.length, "more fault")}`));
  }
  replaceIfChanged($("faults"), items);
  $("faults-empty").hidden = faults.count > 0;
}

function replaceIfChanged(parent, children) {
  const text = children.map((child) => child.textContent).join("\n");
  if (parent.dataset.text === text) return;
  parent.dataset.text = text;
  parent.replaceChildren(...children);
}

// Coverage

function showCoverage({ operations, met, of, unpromised, violations }) {
  const names = Object.keys(operations);
  const statuses = [...new Set(names.flatMap((name) => Object.keys(operations[name])))].sort();
  const key = JSON.stringify([names, statuses]);
  if ($("matrix").dataset.key !== key) makeMatrix(names, statuses, key);
  statuses.forEach((status, row) => {
    names.forEach((name, column) => {
      const cell = $("matrix").tBodies[0].rows[row].cells[column + 1];
      const count = operations[name][status];
      if (count === undefined) return;
      cell.className = count ? "met" : "unmet";
      const missed = status === "other" ? "none" : "not met";
      setText(cell, count ? `✓ ${count.toLocaleString("en")}` : missed);
    });
  });
  setText($("coverage-count"), `${met} of ${of} outcomes met`);
  $("coverage-met").max = of;
  $("coverage-met").value = met;
  $("coverage-empty").hidden = met > 0;
  const items = [];
  for (const [kind, symbol, found] of [
    ["unpromised", "△", unpromised],
    ["violation", "✕", violations],
  ]) {
    for (const { what, count } of found.first) {
      items.push(element("li", { class: kind }, `${symbol} ${kind}: ${what} (${count.toLocaleString("en")}×)`));
    }
    const more = found.count - found.first.length;
    if (more > 0) items.push(element("li", { class: kind }, `${symbol} ${kind}: ${more} more`));
  }
  replaceIfChanged($("findings"), items);
  const select = $("fault-operation");
  if (select.options.length === 1) select.append(...names.map((name) => element("option", {}, name)));
}

function makeMatrix(names, statuses, key) {
  const table = $("matrix");
  table.dataset.key = key;
  const head = names.map((name) => {
    const words = name.split(/(?=[A-Z])/).flatMap((word) => [element("wbr"), word]);
    return element("th", { scope: "col" }, ...words);
  });
  table.tHead.replaceChildren(element("tr", {}, element("th", { scope: "col" }, "Status"), ...head));
  const rows = statuses.map((status) =>
    element("tr", {}, element("th", { scope: "row" }, status), ...names.map(() => element("td"))),
  );
  table.tBodies[0].replaceChildren(...rows);
}

// The poll

let timer = 0;
let failures = 0;
let controller = null;
let instance = null;

const isHidden = () => document.hidden || document.visibilityState === "hidden";

/** Ask for the view now, and again in a second. A later call replaces an earlier one. */
async function poll() {
  clearTimeout(timer);
  controller?.abort();
  if (isHidden()) return; // "visibilitychange" goes on
  const mine = (controller = new AbortController());
  if (!SENDABLE.test(session.token + session.world)) {
    showProblem("Not connected: the token or the world is invalid.", WORLD_RULE);
    return;
  }
  const timeout = setTimeout(() => mine.abort(), TIMEOUT);
  let problem = "";
  try {
    const response = await send("GET", `/_stub/console?after=${requests.last}`, undefined, mine.signal);
    const view = response.ok ? await response.json() : null;
    problem = response.ok ? "" : await reasonOf(response);
    if (mine !== controller) return;
    failures = response.ok ? 0 : failures + 1;
    if (response.status === 401) forget(); // what is shown is of another token
    if (view) showView(view);
    else showProblem(`Not connected: ${response.status === 401 ? "the token is rejected" : "see the reason"}.`, problem);
  } catch {
    if (mine !== controller) return;
    failures++;
    showProblem("Not connected: the server is gone. Trying again.", "");
  } finally {
    clearTimeout(timeout);
    if (mine === controller && !isHidden()) {
      clearTimeout(timer);
      timer = setTimeout(poll, Math.min(SECOND * 2 ** Math.min(failures, 5), LONGEST_PAUSE));
    }
  }
}

function showProblem(status, reason) {
  document.body.dataset.state = "gone";
  setText($("status"), status);
  setText($("connection-error"), reason);
}

function showView(view) {
  document.body.dataset.state = "connected";
  setText($("status"), "Connected");
  setText($("connection-error"), "");
  if (view.world !== session.world) takeWorldOfToken(view.world);
  if (view.instance !== instance) {
    const isOther = instance !== null || requests.last > 0;
    forget();
    instance = view.instance;
    if (isOther) return poll(); // the entries are those after a number of another instance
  }
  projects.newest = view.projects.newest;
  projects.count = view.projects.count;
  requests.last = view.requests.last;
  requests.entries = [...requests.entries, ...view.requests.entries]
    .filter((entry) => entry.number >= view.requests.first)
    .slice(-MAX_ENTRIES);
  showProjects();
  showRequests();
  showControls(view);
  showCoverage(view.coverage);
}

/** Forget what is shown: it is of another world, or of another time. */
function forget() {
  instance = null;
  Object.assign(requests, { entries: [], last: 0, seen: 0 });
  if (requests.frozen) requests.frozen = [];
  projects.seen = null;
  projects.table.clear();
  requests.table.clear();
}

/** The token itself names a world: show it in its field. */
function takeWorldOfToken(world) {
  if (!world || !session.token.endsWith(`.${world}`)) return;
  saveSession(session.token.slice(0, -world.length - 1), world);
  $("world").value = world;
  fillEmptyStates();
}

function connect() {
  forget();
  failures = 0;
  $("world").value = session.world;
  fillEmptyStates();
  for (const id of ["create-error", "controls-error", "fault-error"]) setText($(id), "");
  poll();
}

let typing = 0; // the timer since the last key in the field World

function takeFields() {
  clearTimeout(typing);
  const token = $("token").value || session.token;
  const world = $("world").value.trim();
  $("token").value = "";
  if (token === session.token && world === session.world) return;
  saveSession(token, world);
  connect();
}

$("connection").addEventListener("submit", (event) => {
  event.preventDefault();
  takeFields();
  poll();
});
$("world").addEventListener("change", takeFields);
$("world").addEventListener("input", () => {
  clearTimeout(typing);
  typing = setTimeout(takeFields, SECOND);
});
$("token").addEventListener("change", takeFields);
addEventListener("hashchange", () => {
  if (!location.hash) return;
  readFragment();
  connect();
});
addEventListener("online", poll);
document.addEventListener("visibilitychange", poll);

setText($("address"), location.origin);
loadSession();
connect();
