// Exercises and quizzes are answered on the page. A script of our own, because what exists brings
// its own questions or needs a server: here an answer is judged by odtbook/exercises.toml, which the
// notebook's `check` reads too (a test compares them), and a quiz stays a list of folded answers in
// print, in the notebook and without a script.

// "0, 3/4, 2*10^3" -> [0, 0.75, 2000]; null for what is no list of numbers.
function listed(text) {
  const number = "[-+]?(?:\\d+\\.?\\d*|\\.\\d+)(?:[eE][-+]?\\d+)?";
  const whole = new RegExp(`^${number}(?:[*/^]${number})*$`);
  const values = text.split(/[\s,;]+/).filter(Boolean).map((token) => {
    if (!whole.test(token)) return NaN;
    const factors = token.split(/([*/])/).map((part) => part.includes("^")
      ? part.split("^").map(Number).reduceRight((power, base) => base ** power) : part);
    let value = Number(factors[0]);
    for (let k = 1; k < factors.length; k += 2) {
      value = factors[k] === "*" ? value * factors[k + 1] : value / factors[k + 1];
    }
    return value;
  });
  return values.length && values.every(Number.isFinite) ? values : null;
}

// So many numbers, in each way in which they can be read: 1,234 is a thousand, or two numbers, or a
// decimal comma; 70 % is 0.7 or 70. As odtbook.exercises.numbers_in does it.
function numbersIn(text, count) {
  const own = text.replace(/[()[\]{}]/g, " ").replace(/−/g, "-").replace(/[·×]/g, "*")
    .replace(/\s*([*/^])\s*/g, "$1").replace(/\band\b|&/g, " ");
  const plain = own.replace(/\s*%/g, "");
  const found = [plain, plain.replace(/(\d)[,\u00a0\u202f ](?=\d{3}(?!\d))/g, "$1"),
    plain.replace(/(\d),(?=\d{3}(?!\d))/g, "$1"),
    plain.replace(/(\d),(?=\d)/g, "$1.")].map(listed).filter((list) => list?.length === count);
  return own.includes("%") ? found.flatMap((list) => [list.map((v) => v / 100), list]) : found;
}

// Judge as odtbook.exercises does: [is it right, what to say]. Of all readings one may be right.
function judge(data, text) {
  const said = numbersIn(text, data.hints.at(-1).is.length).map((found) => judgeNumbers(data, found));
  return said.find(([right]) => right) ?? said[0] ?? [false, `give ${data.answer}`];
}

function judgeNumbers({ answer, hints, praise, any_order: anyOrder }, found) {
  const right = hints.at(-1).is;
  const near = (value, [number, tolerance]) => Math.abs(value - number) <= tolerance;
  const matches = (own, list) => list.every((one, k) => one === "any" || near(own[k], one));
  const ascending = [...found].sort((a, b) => a - b);
  if (anyOrder) found = ascending;
  if (!matches(found, right) && matches(ascending, [...right].sort((a, b) => a[0] - b[0]))) {
    return [false, `the numbers are right, but not in the order asked for; give ${answer}`];
  }
  const shortened = (value, one) => one === "any" || near(value, one) || [10, 100].some((unit) =>
    value && Math.abs(value - Math.floor(one[0] * unit + 0.5) / unit) < 1e-9);
  if (!matches(found, right) && right.every((one, k) => shortened(found[k], one))) {
    return [false, "right so far, but rounded too much: give three decimals, or a fraction"];
  }
  for (const line of hints) {
    let good;
    if (line.none) good = !found.some((own) => line.none.some((one) => near(own, one)));
    else if ("sum" in line) good = near(found.reduce((a, b) => a + b), [line.sum, 1e-3]);
    else good = matches(found, line.is ?? line.not) === "is" in line;
    if (!good) return [false, line.hint];
  }
  return [true, praise];
}

function answerExercise(form) {
  const data = JSON.parse(form.dataset.judge), said = form.querySelector("output");
  form.classList.add("odt-live");
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    const [right, words] = judge(data, form.elements.answer.value);
    said.textContent = `${right ? "Right" : "Not yet"}: ${words}`;
    said.className = right ? "odt-right" : "odt-wrong";
  });
}

// Folded answers that follow each other become a choice, a button, and what is said of the choice.
function askQuiz(options, count) {
  const form = document.createElement("form"), group = document.createElement("div");
  const question = options[0].previousElementSibling;
  form.className = "odt-quiz";
  group.setAttribute("role", "radiogroup");
  if (question) {
    question.id ||= `odt-question-${count}`;
    group.setAttribute("aria-labelledby", question.id);
  }
  const button = document.createElement("button"), answers = document.createElement("div");
  button.textContent = "Check";
  answers.setAttribute("role", "status");
  options[0].before(form);
  for (const [k, option] of options.entries()) {
    const label = document.createElement("label"), radio = document.createElement("input");
    Object.assign(radio, { type: "radio", name: "choice", value: k });
    const words = document.createElement("span"), answer = document.createElement("div");
    words.append(...option.querySelector(".sd-summary-text").childNodes);
    answer.append(...option.querySelector(".sd-summary-content").childNodes);
    answer.className = option.classList.contains("quiz-right") ? "odt-right" : "odt-wrong";
    answer.hidden = true;
    label.append(radio, words);
    group.append(label);
    answers.append(answer);
    option.remove();
  }
  form.append(group, button, answers);
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    const chosen = form.elements.choice.value;
    for (const [k, answer] of [...answers.children].entries()) answer.hidden = String(k) !== chosen;
  });
}

addEventListener("DOMContentLoaded", () => {
  document.querySelectorAll("form.odt-answer").forEach(answerExercise);
  const isOption = (element) => element?.matches("details.quiz-right, details.quiz-wrong");
  let count = 0;
  for (const first of document.querySelectorAll("details.quiz-right, details.quiz-wrong")) {
    if (!first.isConnected || isOption(first.previousElementSibling)) continue;
    const options = [first];
    while (isOption(options.at(-1).nextElementSibling)) {
      options.push(options.at(-1).nextElementSibling);
    }
    askQuiz(options, count++);
  }
});
