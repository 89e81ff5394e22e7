// A drawing whose parts come and go, step by step.
(box, captions) => {
  const slider = box.querySelector("input"), said = box.querySelector("output");
  const [back, on] = box.querySelectorAll("button");

  function show(step) {
    slider.value = step;
    for (const part of box.querySelectorAll("[data-from]")) {
      const { from, to } = part.dataset;
      part.style.display = from <= step && step <= to ? "" : "none";
    }
    said.textContent = captions[step];
    slider.setAttribute("aria-valuetext", captions[step]);
    back.disabled = step === 0;
    on.disabled = step === captions.length - 1;
  }

  slider.addEventListener("input", () => show(+slider.value));
  back.addEventListener("click", () => show(+slider.value - 1));
  on.addEventListener("click", () => show(+slider.value + 1));
  show(0);
}
