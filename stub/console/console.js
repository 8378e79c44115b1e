// The console of the stub: polls the view of a world, and shows it.
// Whatever a client sent becomes a text node, never markup.

import { html, render } from "./preact.js";
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
import { open } from "./search.js";
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

/** The reason why there is no connection. It covers the page, and moves nothing. */
const Reason = ({ of: { title, reason, detail } }) =>
  html`<div class="reason" id="reason" role="alert"><h2>${title}</h2><p>${reason}</p><p class="hint">${detail}</p></div>`;

/** The regions. */
function World() {
  const { view, selected, tab } = state;
  return html`<main data-open=${selected !== null}>
    <div class="lists"><${Projects} /><${Requests} /></div>
    ${selected?.number && html`<${Exchange} entry=${selected} />`}
    ${selected?.deployment && html`<${Deployment} id=${selected.deployment} key=${view.instance + selected.deployment} />`}
    <section id="rail" aria-label=${tab}>
      <${Tabs} names=${Object.keys(TABS)} chosen=${tab} choose=${(name) => set({ tab: name })}><${TABS[tab]} /><//>
    </section>
  </main>`;
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

/** Open the world, the request or the deployment that the fragment names. */
function start() {
  const { help, token, world, request, deployment } = readFragment();
  if (help !== undefined) set({ dialog: "help" });
  if (!state.view || token || world !== undefined) connect();
  if (Number(request)) open(Number(request));
  if (deployment) set({ selected: { deployment } });
}

addEventListener("hashchange", () => location.hash && start());

const root = document.getElementById("console");
onChange(() => render(html`<${Console} />`, root));
start();
