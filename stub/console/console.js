// The console of the stub: polls the view of one world, and shows it.
// Whatever a client sent becomes a text node, never markup.

import { html, render, useMemo } from "./preact.js";
import { Controls, Reset } from "./controls.js";
import { Contract } from "./contract.js";
import { Coverage } from "./coverage.js";
import { Header } from "./header.js";
import { Deployment } from "./deployment.js";
import { close } from "./inspector.js";
import { Exchange } from "./exchange.js";
import { Tabs } from "./parts.js";
import { connect } from "./poll.js";
import { Projects } from "./projects.js";
import { Requests } from "./requests.js";
import { readFragment } from "./session.js";
import { announce, onChange, set, state } from "./state.js";
import { Help } from "./words.js";

const TABS = { Controls, Coverage, Contract };

function Console() {
  const { view, connection, dialog, announced } = state;
  return html`<${Header} />
    ${view ? html`<${World} />` : html`<main class="alone"><${Reason} of=${connection} /></main>`}
    ${view && connection.kind === "gone" && html`<${Reason} of=${connection} />`}
    ${dialog === "help" && html`<${Help} />`}
    ${view && dialog === "reset" && html`<${Reset} />`}
    <p class="unseen" aria-live="polite">${announced}</p>`;
}

/** Why there is no connection. It lies over what was shown last, and moves nothing. */
const Reason = ({ of: { title, reason, detail } }) =>
  html`<div class="reason" id="reason" role="alert"><h2>${title}</h2><p>${reason}</p><p class="hint">${detail}</p></div>`;

/** The regions. One of which nothing has changed is not looked at again. */
function World() {
  const { view, selected, epoch, first, last, filter, found, isPaused } = state;
  const projects = useMemo(() => html`<${Projects} />`, [view.projects, view.instance, selected, epoch]);
  const requests = useMemo(() => html`<${Requests} />`, [found, first, last, filter, isPaused, selected, epoch]);
  return html`<main data-open=${selected !== null}>
    <div class="lists">${projects}${requests}</div>
    ${selected?.number && html`<${Exchange} number=${selected.number} />`}
    ${selected?.deployment && html`<${Deployment} id=${selected.deployment} key=${view.instance + selected.deployment} />`}
    <${Rail} />
  </main>`;
}

function Rail() {
  const { view, tab, epoch } = state;
  const Tab = TABS[tab];
  const clock = Tab === Controls && view.clock;
  const shown = useMemo(() => html`<${Tab} />`, [tab, view.coverage, view.faults, view.grease, clock, epoch]);
  return html`<section id="rail" aria-label=${tab}>
    <${Tabs} names=${Object.keys(TABS)} chosen=${tab} choose=${(name) => set({ tab: name })}>${shown}<//>
  </section>`;
}

const KEYS = {
  "/": () => document.getElementById("filter")?.focus(),
  p: () => {
    set({ isPaused: !state.isPaused });
    announce(state.isPaused ? "Paused" : "New requests are shown again");
  },
  "?": () => set({ dialog: "help" }),
};

addEventListener("keydown", (event) => {
  if (state.dialog || event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.key === "Escape" && state.selected && !event.target.matches("input")) close();
  if (event.target.closest("input, select, textarea") || !KEYS[event.key]) return;
  event.preventDefault();
  KEYS[event.key]();
});

/** Show what the fragment names. */
function start() {
  const given = readFragment();
  if (given?.help !== undefined) set({ dialog: "help" });
  if (!state.view || given?.token || given?.world !== undefined) connect();
  if (Number(given?.request)) set({ selected: { number: Number(given.request) } });
  if (given?.deployment) set({ selected: { deployment: given.deployment } });
}

addEventListener("hashchange", () => location.hash && start());

const root = document.getElementById("console");
onChange(() => render(html`<${Console} />`, root));
start();
