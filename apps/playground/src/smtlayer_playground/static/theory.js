// Paste a theory, flip its inputs, and see what the solver answers to the layer's three questions.
import { asker, find, h, list, listed, milliseconds, percent, chance, rounded, tag } from "/static/ui.js";
import { EXAMPLES } from "/static/examples.js";

const USUAL = 2;

export async function startTheory(about) {
  const text = find("theory-text"), inputs = find("theory-inputs"), outputs = find("theory-outputs");
  const columns = find("theory-columns"), answer = find("theory-answer"), example = find("theory-example");
  const state = { signs: {}, confidence: {}, wanted: {}, drawn: "" };
  const { limits } = about;
  find("theory-limits").textContent = `Inputs and outputs: names of Bool or BitVec constants, or “n in 1..9” and “pet in cat/dog” for others. ` +
    `Up to ${limits.text.toLocaleString("en")} characters, ${limits.columns} columns, ${limits.seconds} s and ${limits.memory_mb} MB; solved in a process of its own that cannot touch files.`;

  const send = asker("theory", answer, (told) => {
    if (state.drawn !== shape(told)) drawColumns(columns, told, state, ask);
    state.drawn = shape(told);
    columns.classList.remove("waiting");
    markColumns(columns, told);
    showAnswers(answer, told);
  }, 250);
  const ask = () => send(() => ({ text: text.value, inputs: inputs.value, outputs: outputs.value,
    signs: state.signs, confidence: state.confidence, wanted: state.wanted }));
  function edited() {
    Object.assign(state, { signs: {}, confidence: {}, wanted: {} });
    state.drawn = "";
    columns.classList.add("waiting");
    ask();
  }
  function choose() {
    const chosen = EXAMPLES[example.value];
    [text.value, inputs.value, outputs.value] = [chosen.text, chosen.inputs, chosen.outputs];
    Object.assign(state, { signs: { ...chosen.signs }, confidence: {}, wanted: { ...chosen.wanted } });
    state.drawn = "";
    ask();
  }
  example.append(...Object.keys(EXAMPLES).map((name) => h("option", {}, name)));
  example.addEventListener("change", choose);
  for (const field of [text, inputs, outputs]) field.addEventListener("input", edited);
  choose();
}

const shape = (told) => JSON.stringify([told.inputs, told.outputs]);

/** One line a column: true, false or free, and how certain. */
function drawColumns(place, told, state, ask) {
  const input = (column) => {
    const slider = h("input", { type: "range", min: "0.1", max: "5", step: "0.1", "aria-label": `Confidence of ${column}` });
    slider.value = String(state.confidence[column] ?? USUAL);
    const shown = h("span", { class: "percent" }, percent(chance(Number(slider.value))));
    slider.addEventListener("input", () => {
      state.confidence[column] = Number(slider.value);
      shown.textContent = percent(chance(Number(slider.value)));
      ask();
    });
    const set = (sign) => {
      state.signs[column] = sign;
      slider.disabled = sign === 0;
      ask();
    };
    const start = (state.signs[column] ??= told.signs[column]);
    slider.disabled = start === 0;
    return h("div", { class: "column", "data-column": column }, h("span", { class: "name mono", title: column }, column),
      choice(`in-${column}`, column, { true: 1, false: -1, free: 0 }, start, set), slider, shown);
  };
  const output = (column) => h("div", { class: "column output", "data-output": column }, h("span", { class: "name mono", title: column }, column),
    choice(`out-${column}`, `wanted ${column}`, { true: 1, false: -1, any: 0 }, (state.wanted[column] ??= 0), (sign) => { state.wanted[column] = sign; ask(); }), "");
  const group = (symbol, row) => h("div", { class: "symbol" }, symbol.columns.length > 1 ? h("h3", {}, symbol.name, h("span", { class: "note", "data-read": symbol.name })) : null, symbol.columns.map(row));
  place.replaceChildren(h("h2", {}, "What the network says"), ...told.inputs.map((symbol) => group(symbol, input)),
    h("h2", { class: "later" }, "What is wanted"), ...told.outputs.map((symbol) => group(symbol, output)));
}

/** A few choices side by side, of which one holds. */
function choice(name, label, values, start, chosen) {
  return h("span", { class: "choice", role: "radiogroup", "aria-label": label }, Object.entries(values).map(([word, value]) => {
    const radio = h("input", { type: "radio", name, value: String(value), change: () => chosen(value) });
    radio.checked = value === start;
    return h("label", {}, radio, word);
  }));
}

function markColumns(place, told) {
  for (const row of place.querySelectorAll("[data-column]")) row.classList.toggle("blamed", told.core.columns.includes(row.dataset.column));
  for (const shown of place.querySelectorAll("[data-read]")) {
    const value = told.read[shown.dataset.read];
    if (value !== undefined) shown.textContent = value === null ? "no value" : `= ${value}`;
  }
}

function showAnswers(place, told) {
  const wanted = told.wanted !== null;
  place.replaceChildren(
    card("solve", "Is there a model with these inputs?", told.solve.status === "sat" ? [h("p", {}, tag("fits", "sat")), values(told.solve)]
      : [h("p", {}, status(told.solve.status), told.solve.status === "unsat" ? " No: the inputs contradict the theory." : " The solver gave up.")]),
    card("maximize", "Which model overrules the least?", repaired(told.maximize)),
    ...(wanted ? [card("maximize, wanted", "And with the wanted outputs?", repaired(told.wanted))] : []),
    card("core", wanted ? "Which inputs rule out what is wanted?" : "Which inputs contradict each other?", core(told.core)),
    h("p", { class: "source" }, `Answered by ${told.backend} in ${milliseconds(told.ms)}.`));
}

const status = (word) => tag(word === "sat" ? "fits" : word === "unsat" ? "core" : "quiet", word);

function card(name, question, content) {
  return h("div", { class: "card", "data-question": name }, h("h2", { class: "question" }, h("code", {}, name), h("span", { class: "note" }, question)), content);
}

function values(found) {
  const shown = Object.entries({ ...found.inputs, ...found.outputs });
  return h("dl", { class: "values" }, shown.flatMap(([name, value]) => [h("dt", {}, name), h("dd", {}, String(value))]));
}

function repaired(found) {
  if (found.status !== "sat") return [h("p", {}, status(found.status), found.status === "unsat" ? " None: the theory forbids it, whatever the inputs." : " The solver gave up.")];
  const words = found.overruled.length
    ? [tag("over", "overruled"), ` ${listed(found.overruled)}, at a cost of ${rounded(found.cost)}${found.proved ? "" : " (the best found in time)"}`]
    : [tag("fits", "nothing overruled")];
  return [h("p", {}, words), values(found)];
}

function core(told) {
  if (told.status === "sat") return [h("p", {}, tag("fits", "nobody is blamed"), told.of === "wanted" ? " The inputs allow what is wanted." : " The inputs fit together.")];
  if (told.status === "unknown") return [h("p", {}, status("unknown"), " The solver gave up.")];
  return [
    h("p", {}, tag("core", "blamed"), ` ${told.columns.length ? listed(told.columns) : "no input: the theory alone forbids it"}`),
    h("p", { class: "note" }, `Together with${told.minimal ? "" : " some of"}:`),
    list(told.constraints.map((part) => h("code", {}, part.label))),
  ];
}
