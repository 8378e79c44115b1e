// The console of the stub: polls the view of one world, and shows it.
// Whatever a client sent becomes a text node, never markup.

import { html, render } from "./console.js?preact";
import { Controls, Reset } from "./console.js?controls";
import { Coverage } from "./console.js?coverage";
import { Header } from "./console.js?header";
import { closeInspector, Inspector } from "./console.js?inspector";
import { connect } from "./console.js?poll";
import { Projects } from "./console.js?projects";
import { Requests } from "./console.js?requests";
import { readFragment } from "./console.js?session";
import { onChange, set, state } from "./console.js?state";
import { Help } from "./console.js?words";

const TABS = { Controls, Coverage };

function Console() {
  const { view, connection, dialog, announced } = state;
  return html`<${Header} />
    ${view ? html`<${World} />` : html`<${NotConnected} of=${connection} />`}
    ${view && connection.kind === "gone" && html`<${Reason} of=${connection} />`}
    ${dialog === "help" && html`<${Help} />`}
    ${dialog === "reset" && html`<${Reset} />`}
    <p class="unseen" aria-live="polite">${announced}</p>`;
}

const NotConnected = ({ of }) => html`<main class="alone"><${Reason} of=${of} /></main>`;

/** Why there is no connection. It lies over what was shown last, and moves nothing. */
const Reason = ({ of }) => html`<div class="reason" role="alert"><h2>${of.title}</h2><p>${of.reason}</p></div>`;

function World() {
  const { selected } = state;
  return html`<main data-open=${selected !== null}>
    <div class="lists"><${Projects} /><${Requests} /></div>
    ${selected?.number && html`<${Inspector} number=${selected.number} />`}
    <${Rail} />
  </main>`;
}

function Rail() {
  const Tab = TABS[state.tab];
  return html`<section id="rail" aria-label=${state.tab}>
    <div role="tablist">
      ${Object.keys(TABS).map((name) => html`<button type="button" role="tab" id="tab-${name}" aria-selected=${String(name === state.tab)}
        aria-controls="panel" onClick=${() => set({ tab: name })}>${name}</button>`)}
    </div>
    <div id="panel" role="tabpanel" tabindex="0" aria-labelledby="tab-${state.tab}"><${Tab} /></div>
  </section>`;
}

addEventListener("keydown", (event) => {
  if (event.key === "Escape" && state.selected && !state.dialog) closeInspector();
});
addEventListener("hashchange", () => {
  if (readFragment()) connect();
});

const root = document.getElementById("console");
onChange(() => render(html`<${Console} />`, root));
readFragment();
connect();
