// The glossary, and the keys.

import { html, useState } from "./preact.js";
import { Dialog, Pairs } from "./parts.js";
import { set } from "./state.js";

const WORDS = {
  world: "The data, clock, faults, journal and coverage that a token selects: dev-token.job-42 selects the world job-42. Tests in different worlds do not disturb each other.",
  response: "A status that the contract declares for an operation. It is met when a request got it.",
  unpromised: "A part of a request that the interface does not promise, such as a query parameter.",
  violation: "A broken rule of the interface: the Authorization header is missing or malformed, or there is no such operation.",
  fault: "An error, a delay or a cut for the next matching requests.",
  journal: "The newest requests of a world, with their responses.",
  fixed: "The interface promises this part of the contract. § is a section of its document.",
  chosen: "The interface does not say it, and this stub decided: the real service may differ.",
  observed: "The real service did this on the named day.",
  grease: "Intended variation of responses, such as unknown members. So a client notices if it depends on a part that nobody promised.",
};
const KEYS = {
  "/": "go to the filter",
  p: "pause or continue",
  "?": "show this help",
  "↑ ↓": "move through the requests",
  Enter: "open the request",
  Escape: "close",
};

/** A word with a tooltip, shown while the word is pointed at or focused. Escape hides it. */
export function Term({ name, children }) {
  const [isHidden, setHidden] = useState(false);
  const show = () => setHidden(false);
  const onKeyDown = (event) => {
    if (event.key !== "Escape" || isHidden) return;
    event.stopPropagation();
    setHidden(true);
  };
  return html`<span class="term" data-hidden=${isHidden} onPointerEnter=${show} onfocusin=${show} onKeyDown=${onKeyDown}>
    <a href="#help" aria-describedby="word-${name}">${children ?? name}</a>
    <span class="tip" role="tooltip" id="word-${name}">${WORDS[name]}</span>
  </span>`;
}

export function Help() {
  const close = () => set({ dialog: null });
  return html`<${Dialog} title="Help" onClose=${close}>
    <h3>Words</h3><${Pairs} of=${Object.entries(WORDS)} />
    <h3>Keys</h3><dl>${Object.entries(KEYS).map(([keys, what]) => html`<div>
      <dt>${keys.split(" ").map((key) => html`<kbd>${key}</kbd> `)}</dt><dd>${what}</dd>
    </div>`)}</dl>
    <p>The contract of the service is <a href="/openapi.json">/openapi.json</a>. The contract of the control routes is <a href="/_stub/openapi.json">/_stub/openapi.json</a>.</p>
    <div class="bar end"><button type="button" onClick=${close}>Close help</button></div>
  <//>`;
}
