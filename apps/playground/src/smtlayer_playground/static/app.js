// Shows the page that the URL fragment names, and starts it on the first visit.
import { find, h } from "/static/ui.js";
import { startAddition } from "/static/addition.js";
import { startSudoku } from "/static/sudoku.js";
import { startLiars } from "/static/liars.js";
import { startRequirements } from "/static/requirements.js";
import { startTheory } from "/static/theory.js";

const pages = { addition: startAddition, sudoku: startSudoku, liars: startLiars, requirements: startRequirements, theory: startTheory };
const started = new Set();

const about = fetch("/api/about").then((response) => response.json());

async function open() {
  const fragment = location.hash.slice(1);
  if (fragment === "main") return;
  const name = fragment in pages ? fragment : "addition";
  for (const other of Object.keys(pages)) find(`page-${other}`).hidden = other !== name;
  for (const link of document.querySelectorAll("nav a")) {
    if (link.hash === `#${name}`) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
  document.title = `${document.querySelector("nav [aria-current]").textContent} · smtlayer playground`;
  if (started.has(name)) return;
  started.add(name);
  try {
    await pages[name](await about);
  } catch (error) {
    find("main").prepend(h("p", { class: "error", role: "alert" }, error.message));
  }
}

addEventListener("hashchange", () => {
  open();
  scrollTo(0, 0);
});
open();
