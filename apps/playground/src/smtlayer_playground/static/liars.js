// Three typed sentences: who is guilty, and why no one else can be.
import { debouncedPost, find, h, joined, list, milliseconds, percent, rounded, tag } from "/static/ui.js";

const EXAMPLES = {
  "One liar": ["Alice says Bob did it.", "Bob says that Charlie is guilty.", "Charlie: Alice is definitely innocent."],
  "They contradict each other": ["Alice said Bob is guilty.", "Bob said Charlie is guilty.", "Charlie said Bob is innocent."],
  "One of them is not sure": ["Alice thinks Bob is probably guilty.", "Bob says Charlie is definitely the criminal.", "Charlie says Alice is definitely guilty."],
  "Alice speaks twice": ["Alice says Bob did it.", "Alice says Charlie did it.", "Bob says Charlie is innocent."],
  "In your own words": ["“It was Bob, Bob did it!” said Alice", "Bob never lies, says Charlie.", "Alice isn't honest, claims Bob."],
};
const LABELS = { speaker: "speaker", subject: "about", claim: "claim" };

export async function startLiars(about) {
  const { names, run } = about.liars;
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
  showSource(run);

  const verdictPanel = find("liars-answer");
  const send = debouncedPost("liars", verdictPanel, (answer) => {
    answer.sentences.forEach((sentence, i) => chips[i].replaceChildren(...chipsOf(sentence, i, answer)));
    showVerdict(verdictPanel, answer);
    showBlame(find("liars-blame"), answer, accused === null ? null : names[accused]);
  });
  function changed() {
    send(() => ({ sentences: inputs.map((input) => input.value), accused }));
  }
  function suspect(index) {
    accused = index;
    suspects.forEach((button, i) => button.setAttribute("aria-pressed", String(i === index)));
    changed();
  }
  function choose() {
    EXAMPLES[example.value].forEach((sentence, i) => (inputs[i].value = sentence));
    changed();
  }
  choose();
}

function showSource(run) {
  find("liars-reader").textContent = run ? "A network" : "A keyword search";
  find("liars-source").textContent = run
    ? `Network: ${run.folder}. It knows the 21 words that it was trained on; sentences with other words are searched for keywords.`
    : "The sentences are searched for keywords, without a network: names, words for guilt and innocence, “not”, and words such as “maybe” and “definitely”. " +
      "To use a network, train one with “smtlayer train liars-puzzle --method best --out runs/liars” and run “smtlayer demo runs/liars”.";
}

/** The speaker, the subject and the claim of a sentence, as read. */
function chipsOf(sentence, number, answer) {
  const core = [...(answer.conflict?.parts ?? []), ...(answer.blame?.parts ?? [])].filter((place) => place.sentence === number).map((place) => place.part);
  return Object.entries(sentence).map(([part, { read, taken, certainty, overruled }]) => {
    const kind = overruled ? " overruled" : read === null ? " free" : "";
    const text = read === null ? "not found" : overruled ? `${read} → ${taken}` : read;
    return h("span", { class: `chip${kind}${core.includes(part) ? " core" : ""}` },
      h("small", {}, `${LABELS[part]}: `), text, h("small", {}, certainty === null ? "" : ` ${percent(certainty)}`));
  });
}

function showVerdict(panel, answer) {
  panel.replaceChildren(
    h("h2", {}, "The solver's verdict"),
    ...(answer.guilty ? [
      headline(answer.suspects),
      h("p", {}, ...verdict(answer)),
      ...(answer.conflict ? [h("p", {}, "The sentences as read contradict each other, because:"), list(answer.conflict.rules)] : []),
    ] : [h("p", {}, "The solver found no one.")]),
    answer.note ? h("p", { class: "note" }, answer.note) : "",
    h("p", { class: "note" }, `Read by ${answer.reader === "network" ? "the network" : "keywords"}, solved in ${milliseconds(answer.ms)}.`));
}

/** Names the guilty one, or two suspects; three are everyone. */
function headline(suspects) {
  const decided = suspects.length === 1 || suspects.length === 2;
  return h("p", { class: "result", id: "liars-guilty" }, decided ? [h("span", { class: "answer" }, suspects.join(" or ")), " is guilty"] : "Undecided");
}

function verdict({ suspects, sentences, overruled, cost }) {
  const several = suspects.length > 1;
  if (overruled.length) {
    return [tag("over", "overruled"), ` The cheapest repair, at a cost of ${rounded(cost)}: ${joined(repairs(sentences))}.`,
      several ? ` At the same cost, ${joined(suspects)} could each be guilty.` : ""];
  }
  if (several) return [tag("quiet", "several suspects"), ` The sentences are not enough to decide: ${joined(suspects)} could each be guilty.`];
  return [tag("fits", "consistent"), " No one else can be guilty."];
}

function repairs(sentences) {
  return sentences.flatMap((sentence, i) => Object.values(sentence).filter((part) => part.overruled)
    .map((part) => `in sentence ${i + 1}, ${part.read} → ${part.taken}`));
}

function showBlame(panel, answer, name) {
  if (name === null) {
    panel.replaceChildren(h("p", { class: "note" }, "Choose a suspect. The solver shows which sentences clear them."));
  } else if (!answer.blame) {
    panel.replaceChildren(h("p", {}, tag("fits", "possible"), ` The sentences as read allow that ${name} is guilty.`));
  } else {
    const sentences = [...new Set(answer.blame.parts.map((part) => part.sentence + 1))];
    const subject = sentences.length > 1 ? `sentences ${joined(sentences)} rule` : `sentence ${sentences[0]} rules`;
    panel.replaceChildren(h("p", {}, tag("core", "impossible"), ` As read, ${subject} out that ${name} is guilty, because:`), list(answer.blame.rules));
  }
}
