// Lines of a drawing or of columns keep together; all other printed lines wrap (book.css).
function keepAlignedLines() {
  for (const pre of document.querySelectorAll(".bd-article div.cell_output pre")) {
    if (pre.querySelector("span:not(:empty)")) continue;    // coloured by the terminal's codes
    const lines = pre.textContent.split("\n");
    const aligned = lines.map((line) => /(\S {2,}(?=\S).*){2}|^ {4,}\S|[│├└─]/.test(line));
    if (!aligned.includes(true)) continue;
    pre.replaceChildren(...lines.flatMap((line, k) => {
      const end = k < lines.length - 1 ? "\n" : "";
      if (!aligned[k]) return [line + end];
      const span = document.createElement("span");
      span.className = "odt-aligned";
      span.textContent = line;
      return [span, end];
    }));
  }
}
addEventListener("DOMContentLoaded", keepAlignedLines);

// A box that scrolls sideways must be reachable by keyboard, also one whose formula comes later.
const scrollers = ".bd-article pre, .bd-article .output, .bd-article .math, " +
  ".bd-article .pst-scrollable-table-container, .bd-article .odt-scroll, " +
  ".bd-article [style*='overflow-x']";
const resized = new ResizeObserver((entries) => {
  const boxes = entries.flatMap(({target}) => [target, ...target.querySelectorAll("mjx-container")]);
  const scrolls = boxes.map((box) => box.scrollWidth > box.clientWidth);
  boxes.forEach((box, k) => {
    if (scrolls[k]) box.setAttribute("tabindex", "0");
    else box.removeAttribute("tabindex");
  });
});
addEventListener("DOMContentLoaded", () => {
  for (const box of document.querySelectorAll(scrollers)) resized.observe(box);
});

// On paper nothing can be opened: print the answers of quizzes too.
addEventListener("beforeprint", () => {
  for (const folded of document.querySelectorAll("details:not([open])")) {
    folded.open = folded.dataset.printed = true;
  }
});
addEventListener("afterprint", () => {
  for (const folded of document.querySelectorAll("details[data-printed]")) {
    folded.open = false;
    delete folded.dataset.printed;
  }
});
