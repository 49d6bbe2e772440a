// The front end of the explorer, for Jupyter (anywidget) and for the browser (browser.js).
// Requests and events are those of fsmodels/app/worker.py. All text is set as textContent, never as HTML.

const DELAY = 150; // ms between an edit of a number and its request
const ROWS_DELAY = 400; // ms, for rows, which take longer to type
const MOST_SHOWN = 200; // features in the list
const WORDS = {
  select: "Solving",
  near_optimal: "Listing selections that are as good",
  necessity: "Proving which features are necessary",
  cross_validate: "Cross-validating",
  report: "Writing the report",
};

// Create an element: properties, "data-" and "aria-" attributes, listeners (onclick), and children.
function create(tag, properties = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (name.includes("-")) element.setAttribute(name, value);
    else element[name] = value;
  }
  element.append(...children);
  return element;
}

const digits = (value, count = 6) => (value === null ? "–" : String(Number(value.toPrecision(count))));
const percent = (share) => (share === null ? "–" : `${Number((100 * share).toPrecision(3))}%`);
const gapText = (gap) => (gap !== null && gap < 1e-4 ? "below 0.01%" : percent(gap));

function table(titles, rows, className = "") {
  const cells = (tag, values) => values.map((value) => create(tag, {}, value));
  const head = create("thead", {}, create("tr", {}, ...cells("th", titles)));
  const body = create("tbody", {}, ...rows.map((row) => create("tr", {}, ...cells("td", row))));
  return create("table", { className }, head, body);
}

function card(title, ...children) {
  return create("section", { className: "card" }, create("h2", { textContent: title }), ...children);
}

function save(name, text) {
  const url = URL.createObjectURL(new Blob([text], { type: "text/html" }));
  create("a", { href: url, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(url), 1000);
}

class Panel {
  constructor(model, root) {
    this.model = model;
    this.root = root;
    this.page = Math.random().toString(36).slice(2); // several pages may share a worker
    this.count = 0; // of requests
    this.busy = ""; // what the last request does
    this.started = 0;
    this.progress = null; // the last progress event
    model.on("msg:custom", (event) => this.receive(event));
    model.send({ do: "hello" });
  }

  // ------------------------------------------------------------------------------------------------ requests, events

  send(action) {
    clearTimeout(this.timer);
    this.count += 1;
    this.id = `${this.page}-${this.count}`;
    this.busy = action;
    this.started = Date.now();
    this.progress = null;
    this.model.send({ do: action, id: this.id, question: this.question() });
    this.showState();
  }

  edited(delay = DELAY) {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.send("select"), delay);
  }

  receive(event) {
    if (event.event === "welcome") {
      this.build(event);
      this.send("select");
    } else if (event.event === "closed" && this.parts) {
      this.finish("The server has stopped. Start it again with: fsmodels app", "error");
      this.root.inert = true;
    } else if (event.id === this.id) {
      this.handle(event);
    }
  }

  handle(event) {
    if (event.event === "progress") {
      this.progress = event;
      this.showState();
    } else if (event.event === "answer") {
      this.showAnswer(event);
      if (this.busy === "select") this.finish();
      else this.showState();
    } else if (event.event === "result") {
      this.parts.results.replaceChildren(this.result(event));
      this.finish();
    } else if (event.event === "report") {
      save(event.name, event.html);
      this.finish();
    } else if (event.event === "stopped") {
      this.finish("Stopped.", "feasible");
    } else if (event.event === "error") {
      this.finish(event.text, "error");
    }
  }

  finish(text = this.answer.text, status = this.answer.status) {
    this.busy = "";
    this.root.dataset.finished = this.count;
    this.showState();
    this.showHeadline(text, status);
  }

  // ---------------------------------------------------------------------------------------------------- the controls

  build(welcome) {
    this.models = Object.fromEntries(welcome.models.map((model) => [model.name, model]));
    this.features = welcome.features;
    this.forced = new Map(); // feature -> "in" or "out"
    const names = welcome.models.map((model) => create("option", { textContent: model.name }));
    const edited = () => this.edited();
    const numberInput = (step) => create("input", { type: "number", step, min: 0, oninput: edited });
    this.inputs = {
      model: create("select", { onchange: () => this.modelChanged() }, ...names),
      max_features: create("input", { type: "number", min: 1, max: this.features.length, oninput: edited }),
      C: numberInput("any"),
      penalty: numberInput("any"),
      rows: create("textarea", { rows: 3, spellcheck: false, placeholder: "one per line", oninput: () => this.edited(ROWS_DELAY) }),
    };
    this.labels = {};
    const label = (name, text) => {
      this.labels[name] = create("label", {}, create("span", { textContent: text }), this.inputs[name]);
      return this.labels[name];
    };
    this.filter = create("input", { type: "search", placeholder: "Filter", oninput: () => this.showFeatures() });
    this.list = create("div", { className: "features" });
    const controls = create(
      "form",
      { className: "controls", onsubmit: (event) => event.preventDefault() },
      create("h1", { textContent: "fsmodels explorer" }),
      create("p", { className: "soft", textContent: welcome.data }),
      label("model", "Model"),
      create(
        "div",
        { className: "numbers" },
        label("max_features", "Max features"),
        label("C", "C"),
        label("penalty", "Penalty"),
      ),
      label("rows", "Rows, such as 2 a + b <= 2"),
      create("div", { className: "label" }, create("span", { textContent: "Features" }), this.filter),
      this.list,
    );
    this.root.replaceChildren(controls, this.buildAnswer());
    this.show(welcome.question);
    this.showHistory(welcome.history);
  }

  // Set the controls to a question.
  show(question) {
    for (const name of ["model", "max_features", "C", "penalty"]) this.inputs[name].value = question[name] ?? "";
    this.inputs.rows.value = question.rows.join("\n");
    this.forced = new Map([
      ...question.force_in.map((name) => [name, "in"]),
      ...question.force_out.map((name) => [name, "out"]),
    ]);
    this.showUsed();
    this.showFeatures();
  }

  // Return the question of the controls.
  question() {
    const number = (name) => (this.inputs[name].value === "" ? null : Number(this.inputs[name].value));
    const forced = (where) => this.features.filter((name) => this.forced.get(name) === where);
    return {
      model: this.inputs.model.value,
      max_features: number("max_features"),
      C: number("C"),
      penalty: number("penalty"),
      force_in: forced("in"),
      force_out: forced("out"),
      rows: this.inputs.rows.value.split("\n").filter((row) => row.trim() !== ""),
    };
  }

  modelChanged() {
    this.inputs.penalty.value = this.models[this.inputs.model.value].penalty ?? "";
    this.showUsed();
    this.send("select");
  }

  showUsed() {
    const { uses } = this.models[this.inputs.model.value];
    for (const name of ["max_features", "C", "penalty"]) this.labels[name].hidden = !uses.includes(name);
  }

  showFeatures() {
    const wanted = this.filter.value.toLowerCase();
    const found = this.features.filter((name) => name.toLowerCase().includes(wanted));
    const more = found.length - MOST_SHOWN;
    const rest = more > 0 ? [create("p", { className: "soft", textContent: `${more} more: use the filter.` })] : [];
    this.list.replaceChildren(...found.slice(0, MOST_SHOWN).map((name) => this.featureSwitch(name)), ...rest);
  }

  featureSwitch(feature) {
    const state = this.forced.get(feature) ?? "free";
    const choices = ["in", "free", "out"].map((choice) => {
      const change = () => {
        this.forced.set(feature, choice);
        this.send("select");
      };
      const name = `fsmodels-${this.features.indexOf(feature)}`;
      const input = create("input", { type: "radio", name, checked: choice === state, onchange: change });
      return create("label", {}, input, create("span", { textContent: choice }));
    });
    const group = create("span", { className: "switch", role: "radiogroup", "aria-label": feature }, ...choices);
    return create("div", { className: "feature" }, create("span", { textContent: feature, title: feature }), group);
  }

  // ------------------------------------------------------------------------------------------------------ the answer

  buildAnswer() {
    const button = (text, action) => create("button", { type: "button", textContent: text, onclick: action });
    this.parts = {
      headline: create("p", { className: "headline", role: "status" }),
      note: create("p", { className: "soft" }),
      live: create("p", { className: "live" }),
      bar: create("div", { className: "bar" }),
      stop: button("Stop", () => this.model.send({ do: "stop" })),
      selected: create("div"),
      confusion: create("div"),
      results: create("div"),
      code: create("pre"),
      model: create("pre"),
      history: create("ol", { className: "history" }),
    };
    const { headline, note, live, bar, stop, selected, confusion, results, code, model, history } = this.parts;
    const copied = (event) => {
      navigator.clipboard.writeText(code.textContent);
      event.target.textContent = "Copied";
      setTimeout(() => (event.target.textContent = "Copy code"), 1500);
    };
    stop.className = "stop";
    const status = create("div", { className: "status" }, create("div", {}, headline, live, note), stop);
    const actions = create(
      "div",
      { className: "actions" },
      button("Cross-validated error", () => this.send("cross_validate")),
      button("What else is as good?", () => this.send("near_optimal")),
      button("What is necessary?", () => this.send("necessity")),
      button("Save report", () => this.send("report")),
    );
    return create(
      "div",
      { className: "answer" },
      create("section", { className: "card top" }, bar, status),
      actions,
      results,
      create(
        "div",
        { className: "columns" },
        card("Selected features", selected),
        card("Training samples", confusion),
      ),
      card("History", history),
      card("Python code", code, button("Copy code", copied)),
      create("details", { className: "card" }, create("summary", { textContent: "Pyomo model" }), model),
    );
  }

  showState() {
    clearTimeout(this.clock);
    this.root.classList.toggle("busy", this.busy !== "");
    this.parts.stop.disabled = this.busy === "";
    if (!this.busy) return;
    const seconds = Math.floor((Date.now() - this.started) / 1000);
    this.showHeadline(`${WORDS[this.busy]} …${seconds > 0 ? ` ${seconds} s` : ""}`, "solving");
    if (this.progress) this.showNumbers(this.progress.incumbent, this.progress.bound);
    this.clock = setTimeout(() => this.showState(), 500);
  }

  showHeadline(text, status) {
    this.parts.headline.textContent = text;
    this.root.dataset.status = status;
    if (status === "error") this.parts.live.textContent = this.parts.note.textContent = "";
  }

  showNumbers(incumbent, bound, seconds = null) {
    const gap = incumbent && bound !== null ? Math.abs((incumbent - bound) / incumbent) : null;
    const parts = [`objective ${digits(incumbent)}`, `bound ${digits(bound)}`, `gap ${gapText(gap)}`];
    if (seconds !== null) parts.push(`${seconds.toFixed(2)} s`);
    this.parts.live.textContent = parts.join("  ·  ");
  }

  showAnswer(answer) {
    this.answer = answer;
    this.progress = null;
    this.parts.results.replaceChildren();
    this.showHeadline(answer.text, answer.status);
    this.showNumbers(answer.objective, answer.bound, answer.seconds);
    this.parts.note.textContent = answer.note;
    this.parts.selected.replaceChildren(this.weights(answer.features));
    this.parts.confusion.replaceChildren(...this.confusion(answer));
    this.parts.code.textContent = answer.code;
    const rows = Object.values(answer.rows).map((row) => `  ${row}`);
    this.parts.model.textContent = [answer.model, "", "Side constraints:", ...rows].join("\n");
    this.showHistory(answer.history);
  }

  weights(features) {
    if (!features.length) return create("p", { className: "soft", textContent: "No selection." });
    const largest = Math.max(...features.map(([, weight]) => Math.abs(weight)));
    const rows = features.map(([name, weight, original]) => {
      const bar = create("span", { className: weight < 0 ? "weight negative" : "weight" });
      bar.style.width = `${(100 * Math.abs(weight)) / largest}%`;
      return [name, digits(weight, 4), bar, digits(original, 4)];
    });
    return table(["feature", "scaled weight", "", "original units"], rows, "weights");
  }

  confusion({ confusion, training_error: error }) {
    if (!confusion) return [create("p", { className: "soft", textContent: "No classifier." })];
    const [positive, negative] = confusion.labels;
    const rows = confusion.counts.map((counts, k) => [confusion.labels[k], ...counts.map(String)]);
    const text = `Training error ${percent(error)}`;
    return [table(["true class", `predicted ${positive}`, `predicted ${negative}`], rows), create("p", { className: "soft", textContent: text })];
  }

  result({ do: action, text, table: rows }) {
    const titles = { near_optimal: "As good", necessity: "Necessary", cross_validate: "Cross-validated error" };
    return card(titles[action], create("p", { textContent: text }), table(rows[0], rows.slice(1)));
  }

  showHistory(history) {
    const items = history.map(({ question, text }) => {
      const back = () => {
        this.show(question);
        this.send("select");
      };
      const { uses } = this.models[question.model];
      const details = [
        question.model,
        ...uses.filter((name) => question[name] !== null).map((name) => `${name}=${question[name]}`),
        ...question.force_in.map((name) => `${name} in`),
        ...question.force_out.map((name) => `${name} out`),
        ...question.rows,
      ].join(", ");
      const button = create("button", { type: "button", onclick: back }, create("span", { textContent: text }));
      button.append(create("span", { className: "soft", textContent: details }));
      if (JSON.stringify(question) === JSON.stringify(this.answer?.question)) button.setAttribute("aria-current", "true");
      return create("li", {}, button);
    });
    this.parts.history.replaceChildren(...items.reverse());
  }
}

function render({ model, el }) {
  const root = create("div", { className: "fsmodels-app", "data-lm-suppress-shortcuts": "true" });
  el.append(create("div", { className: "fsmodels-host" }, root)); // its width determines the layout
  new Panel(model, root);
}

export default { render };
