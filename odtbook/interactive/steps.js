// A drawing whose parts come and go, step by step.
(box, captions) => {
  const slider = box.querySelector("input"), said = box.querySelector("output");
  const [back, next, play] = box.querySelectorAll("button");
  const last = captions.length - 1;
  let clock = null;

  function show(step) {
    slider.value = step;
    for (const part of box.querySelectorAll("[data-from]")) {
      const { from, to } = part.dataset;
      part.style.display = from <= step && step <= to ? "" : "none";
    }
    said.textContent = captions[step];
    slider.setAttribute("aria-valuetext", captions[step]);
    back.disabled = step === 0;
    next.disabled = step === last;
  }

  // A step that the reader chooses ends the play.
  function pause() {
    clearInterval(clock);
    clock = null;
    play.textContent = "Play";
  }

  function advance() {
    show(+slider.value + 1);
    if (+slider.value === last) pause();
  }

  slider.addEventListener("input", () => { pause(); show(+slider.value); });
  back.addEventListener("click", () => { pause(); show(+slider.value - 1); });
  next.addEventListener("click", () => { pause(); show(+slider.value + 1); });
  play.addEventListener("click", () => {
    if (clock !== null) return pause();
    if (+slider.value === last) show(0);
    clock = setInterval(advance, Math.max(250, Math.min(2500, 60000 / captions.length)));
    play.textContent = "Pause";
  });
  show(0);
}
