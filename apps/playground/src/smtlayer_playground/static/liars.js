// Type what three people say; see who is guilty, and why nobody else can be.
import { asker, find, h, list, listed, milliseconds, percent, rounded, tag } from "/static/ui.js";

const EXAMPLES = {
  "One liar": ["Alice says Bob did it.", "Bob says that Charlie is guilty.", "Charlie: Alice is definitely innocent."],
  "They contradict each other": ["Alice said Bob is guilty.", "Bob said Charlie is guilty.", "Charlie said Bob is innocent."],
  "One of them is not sure": ["Alice thinks Bob is probably guilty.", "Bob says Charlie is definitely the criminal.", "Charlie says Alice is definitely guilty."],
  "Alice speaks twice": ["Alice says Bob did it.", "Alice says Charlie did it.", "Bob says Charlie is innocent."],
  "In your own words": ["“It was Bob, Bob did it!” said Alice", "Bob never lies, says Charlie.", "Alice isn't honest, claims Bob."],
};
const WORDS = { speaker: "speaks", subject: "spoken of", claim: "claim" };

export async function startLiars(about) {
  const names = about.liars.names;
  const inputs = [1, 2, 3].map((number) => h("input", { id: `sentence-${number}`, maxlength: "200", autocomplete: "off", input: () => changed() }));
  const chips = inputs.map(() => h("div", { class: "chips" }));
  find("liars-sentences").append(...inputs.map((input, i) =>
    h("div", { class: "sentence" }, h("label", { for: input.id }, `Sentence ${i + 1}`), input, chips[i])));
  const example = find("liars-example");
  example.append(...Object.keys(EXAMPLES).map((name) => h("option", {}, name)));
  example.addEventListener("change", choose);
  let accused = null;
  const suspects = names.map((name, i) => h("button", { type: "button", "aria-pressed": "false", click: () => suspect(accused === i ? null : i) }, name));
  find("liars-accused").append(...suspects);
  tellReader(about);

  const answer = find("liars-answer");
  const send = asker("liars", answer, (told) => {
    told.sentences.forEach((sentence, i) => chips[i].replaceChildren(...chipsOf(sentence, i, told)));
    showVerdict(answer, told);
    showBlame(find("liars-blame"), told, accused === null ? null : names[accused]);
  });
  function changed() {
    send(() => ({ sentences: inputs.map((input) => input.value), accused }));
  }
  function suspect(who) {
    accused = who;
    suspects.forEach((button, i) => button.setAttribute("aria-pressed", String(i === who)));
    changed();
  }
  function choose() {
    EXAMPLES[example.value].forEach((sentence, i) => (inputs[i].value = sentence));
    changed();
  }
  choose();
}

function tellReader(about) {
  const { run } = about.liars;
  find("liars-who").textContent = run ? "A network" : "A search for keywords";
  find("liars-source").textContent = run
    ? `Network: ${run.folder}. It knows the 21 words of its training; other sentences are searched for keywords.`
    : "Sentences are read by keywords here, not by a network: names, words of guilt and innocence, “not”, and words such as “maybe” and “definitely”. " +
      "For a network, train one with “smtlayer train liars-puzzle --method best” and give its folder to “smtlayer demo”.";
}

function chipsOf(sentence, number, told) {
  const core = new Set([...(told.conflict?.parts ?? []), ...(told.blame?.parts ?? [])].filter((p) => p.sentence === number).map((p) => p.part));
  return Object.entries(sentence).map(([part, read]) => {
    const kind = read.overruled ? " overruled" : read.read === null ? " free" : "";
    const text = read.read === null ? "not found" : read.overruled ? `${read.read} → ${read.taken}` : read.read;
    const sure = read.certainty === null ? "" : ` ${percent(read.certainty)}`;
    return h("span", { class: `chip${kind}${core.has(part) ? " core" : ""}` }, h("small", {}, `${WORDS[part]}: `), text, h("small", {}, sure));
  });
}

function showVerdict(place, told) {
  const reader = h("p", { class: "note" }, `Read by ${told.reader === "network" ? "the network" : "keywords"}. ${milliseconds(told.ms)}.`);
  const note = told.note ? h("p", { class: "note" }, told.note) : null;
  if (!told.guilty) {
    place.replaceChildren(h("h2", {}, "The solver's verdict"), h("p", {}, "The solver found nobody."), note ?? "", reader);
    return;
  }
  place.replaceChildren(...[
    h("h2", {}, "The solver's verdict"),
    headline(told),
    h("p", {}, ...verdict(told)),
    told.conflict ? why(told.conflict, "As they were read, the sentences cannot all stand, for:") : null,
    note, reader,
  ].filter(Boolean));
}

/** Names somebody only if the sentences do. */
function headline({ suspects }) {
  const named = suspects.length === 1 || suspects.length === 2;
  return h("p", { class: "result", id: "liars-guilty" }, named ? [h("span", { class: "answer" }, suspects.join(" or ")), " is guilty"] : "Not decided");
}

function verdict(told) {
  const others = told.suspects.filter((name) => name !== told.guilty);
  if (told.overruled.length) {
    return [tag("over", "overruled"), ` The sentences contradict each other. The cheapest repair, at a cost of ${rounded(told.cost)}: ${listed(phrases(told))}.`,
      others.length ? ` For the same cost ${listed(told.suspects)} could each be guilty.` : ""];
  }
  if (others.length) return [tag("quiet", "several suspects"), ` The sentences do not say enough: ${listed(told.suspects)} could each be guilty.`];
  return [tag("fits", "fits"), " The sentences fit together, and nobody else can be guilty."];
}

function phrases(told) {
  return told.sentences.flatMap((sentence, i) => Object.entries(sentence).filter(([, read]) => read.overruled)
    .map(([part, read]) => `in sentence ${i + 1}, ${read.read} → ${read.taken}`));
}

function why(blame, words) {
  return h("div", {}, h("p", {}, words), list(blame.rules));
}

function showBlame(place, told, name) {
  if (name === null) {
    place.replaceChildren(h("p", { class: "note" }, "Suspect somebody, and the solver says which sentences speak against it."));
  } else if (!told.blame) {
    place.replaceChildren(h("p", {}, tag("fits", "possible"), ` The sentences as they were read allow that ${name} is guilty.`));
  } else {
    const sentences = [...new Set(told.blame.parts.map((part) => part.sentence + 1))];
    place.replaceChildren(
      h("p", {}, tag("core", "impossible"), ` As they were read, sentence${sentences.length > 1 ? "s" : ""} ${listed(sentences)} rule${sentences.length > 1 ? "" : "s"} out that ${name} is guilty, for:`),
      list(told.blame.rules));
  }
}
