// What the page knows, and the one function that changes it.

export const state = {
  connection: { kind: "connecting", title: "", reason: "" }, // or "connected", "gone", "rejected"
  epoch: 0, // counts the connections: an error of an earlier one is over
  view: null, // the last response of the poll
  first: 1, // the oldest number of the journal
  last: 0, // the highest one
  filter: { q: "", chip: null }, // words, and {label} with one of {words}, {finding}, {operation, status}
  found: { rows: [], oldest: 1, last: 0, isWhole: true }, // the entries that match the filter, oldest first
  selected: null, // {number} of a request, or {deployment}
  isPaused: false,
  tab: "Controls",
  part: "Response", // of the inspector
  dialog: null, // "reset" or "help"
  announced: "",
};

let draw = () => {};
let isDue = false;

export function onChange(callback) {
  draw = callback;
}

/** Change what is known, and show it once, after all that changes it now. */
export function set(changes) {
  Object.assign(state, changes);
  if (isDue) return;
  isDue = true;
  queueMicrotask(() => {
    isDue = false;
    draw();
  });
}

/** Tell those who cannot see what has changed. A text that is said again has a space more. */
export const announce = (text) => set({ announced: text === state.announced ? `${text}\u00a0` : text });
