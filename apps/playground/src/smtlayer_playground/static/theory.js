// A pasted theory: the user sets its inputs, and the solver answers the queries of the layer.
import { debouncedPost, find, h, joined, list, milliseconds, percent, rounded, sigmoid, tag } from "/static/ui.js";
import { EXAMPLES } from "/static/examples.js";

const DEFAULT_CONFIDENCE = 2; // log-odds

export async function startTheory(about) {
  const text = find("theory-text"), inputs = find("theory-inputs"), outputs = find("theory-outputs");
  const columns = find("theory-columns"), results = find("theory-answer"), example = find("theory-example");
  const state = { signs: {}, confidence: {}, wanted: {}, symbols: "" };
  const { limits } = about;
  find("theory-limits").textContent = `Inputs and outputs: names of Bool or BitVec constants, or “n in 1..9” and “pet in cat/dog” for other sorts. ` +
    `At most ${limits.text.toLocaleString("en")} characters, ${limits.columns} columns, ${limits.seconds}\u00a0s and ${limits.memory_mb}\u00a0MB. Solved in a separate process that cannot access files.`;

  const send = debouncedPost("theory", results, (answer) => {
    const symbols = JSON.stringify([answer.inputs, answer.outputs]);
    if (state.symbols !== symbols) drawColumns(columns, answer, state, update);
    state.symbols = symbols;
    columns.classList.remove("waiting");
    markColumns(columns, answer);
    showAnswers(results, answer);
  }, 250);
  const update = () => send(() => ({ text: text.value, inputs: inputs.value, outputs: outputs.value,
    signs: state.signs, confidence: state.confidence, wanted: state.wanted }));
  function reset(signs = {}, wanted = {}) {
    Object.assign(state, { signs: { ...signs }, confidence: {}, wanted: { ...wanted }, symbols: "" });
    update();
  }
  function edited() {
    columns.classList.add("waiting");
    reset();
  }
  function choose() {
    const chosen = EXAMPLES[example.value];
    [text.value, inputs.value, outputs.value] = [chosen.text, chosen.inputs, chosen.outputs];
    reset(chosen.signs, chosen.wanted);
  }
  example.append(...Object.keys(EXAMPLES).map((name) => h("option", {}, name)));
  example.addEventListener("change", choose);
  for (const field of [text, inputs, outputs]) field.addEventListener("input", edited);
  choose();
}

/** Draws one line per column: true, false or free, and the confidence of inputs. */
function drawColumns(panel, answer, state, update) {
  const name = (column) => h("span", { class: "name mono", title: column }, column);
  const input = (column) => {
    const slider = h("input", { type: "range", min: "0.1", max: "5", step: "0.1", "aria-label": `Confidence of ${column}` });
    slider.value = String(state.confidence[column] ?? DEFAULT_CONFIDENCE);
    const probability = h("span", { class: "percent" }, percent(sigmoid(Number(slider.value))));
    slider.addEventListener("input", () => {
      state.confidence[column] = Number(slider.value);
      probability.textContent = percent(sigmoid(Number(slider.value)));
      update();
    });
    const setSign = (sign) => {
      state.signs[column] = sign;
      slider.disabled = sign === 0;
      update();
    };
    const start = (state.signs[column] ??= answer.signs[column]);
    slider.disabled = start === 0;
    return h("div", { class: "column", "data-column": column }, name(column),
      choice(`in-${column}`, column, { true: 1, false: -1, free: 0 }, start, setSign), slider, probability);
  };
  const output = (column) => h("div", { class: "column output", "data-output": column }, name(column),
    choice(`out-${column}`, `wanted ${column}`, { true: 1, false: -1, any: 0 }, (state.wanted[column] ??= 0), (sign) => { state.wanted[column] = sign; update(); }), "");
  const group = (symbol, row) => h("div", { class: "symbol" }, symbol.columns.length > 1 ? h("h3", {}, symbol.name, h("span", { class: "note", "data-read": symbol.name })) : null, symbol.columns.map(row));
  panel.replaceChildren(h("h2", {}, "Inputs, as the network reads them"), ...answer.inputs.map((symbol) => group(symbol, input)),
    h("h2", {}, "Wanted outputs"), ...answer.outputs.map((symbol) => group(symbol, output)));
}

/** Radio buttons side by side. */
function choice(name, label, values, start, chosen) {
  return h("span", { class: "choice", role: "radiogroup", "aria-label": label }, Object.entries(values).map(([word, value]) => {
    const radio = h("input", { type: "radio", name, value: String(value), change: () => chosen(value) });
    radio.checked = value === start;
    return h("label", {}, radio, word);
  }));
}

function markColumns(panel, answer) {
  for (const row of panel.querySelectorAll("[data-column]")) row.classList.toggle("blamed", answer.core.columns.includes(row.dataset.column));
  for (const note of panel.querySelectorAll("[data-read]")) {
    const value = answer.read[note.dataset.read];
    if (value !== undefined) note.textContent = value === null ? "no value" : `= ${value}`;
  }
}

function showAnswers(panel, { solve, maximize, wanted, core, backend, ms }) {
  panel.replaceChildren(
    card("solve", "Is there a model with these inputs?", solve.status === "sat" ? [h("p", {}, tag("fits", "sat")), values(solve)]
      : failure(solve.status, "No: the inputs contradict the theory.")),
    card("maximize", "What is the cheapest repair of the inputs?", repair(maximize)),
    ...(wanted ? [card("maximize, wanted", "And with the wanted outputs?", repair(wanted))] : []),
    card("core", wanted ? "Which inputs rule out the wanted outputs?" : "Which inputs contradict each other?", blamed(core)),
    h("p", { class: "source" }, `Solved by ${backend} in ${milliseconds(ms)}.`));
}

function card(name, question, content) {
  return h("div", { class: "card", "data-query": name }, h("h2", { class: "query" }, h("code", {}, name), h("span", { class: "note" }, question)), content);
}

function failure(status, reason) {
  const unsat = status === "unsat";
  return [h("p", {}, tag(unsat ? "core" : "quiet", status), unsat ? ` ${reason}` : " The solver found no answer in time.")];
}

function values(model) {
  const shown = Object.entries({ ...model.inputs, ...model.outputs });
  return h("dl", { class: "values" }, shown.flatMap(([name, value]) => [h("dt", {}, name), h("dd", {}, String(value))]));
}

function repair(model) {
  if (model.status !== "sat") return failure(model.status, "None: the theory rules it out for all inputs.");
  const words = model.overruled.length
    ? [tag("over", "overruled"), ` ${joined(model.overruled)}, at a cost of ${rounded(model.cost)}${model.proved ? "" : " (the best found in time)"}`]
    : [tag("fits", "nothing overruled")];
  return [h("p", {}, words), values(model)];
}

function blamed(core) {
  if (core.status === "sat") return [h("p", {}, tag("fits", "none"), core.of === "wanted" ? " The inputs allow the wanted outputs." : " The inputs are consistent.")];
  if (core.status === "unknown") return failure(core.status);
  return [
    h("p", {}, tag("core", "blamed"), ` ${core.columns.length ? joined(core.columns) : "no input: the theory alone rules it out"}`),
    h("p", { class: "note" }, `Together with${core.minimal ? "" : " some of"}:`),
    list(core.constraints.map((label) => h("code", {}, label))),
  ];
}
