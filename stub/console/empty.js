// What a region shows while it has nothing: a command that changes that.

import { html } from "./preact.js";
import { Code, Copy } from "./parts.js";

export const Empty = ({ text, command }) => html`<div class="empty">
  <p>${text}</p>
  <${Code} text=${command} label="Command" />
  <p><${Copy} text=${command}>Copy command<//></p>
</div>`;
