// The trials: the server says which one is next; it appears when the answer before it is stored.
"use strict";

(async () => {
  const place = document.getElementById("trial");
  const sending = document.getElementById("sending");
  const bar = document.getElementById("progress");
  const config = JSON.parse(place.dataset.config);
  const texts = survey.texts.trials;
  // A second click or key press that was meant for the trial before must not answer this one.
  const DEAF_MILLISECONDS = 250;

  const escape = (text) => {
    const node = document.createElement("span");
    node.textContent = text;
    return node.innerHTML;
  };

  const trouble = (failures) => {
    sending.textContent = failures ? texts.unsent : "";
    sending.hidden = !failures;
  };

  // An answer that is not acknowledged yet survives a reload or a closed window.
  const remember = (answer) => {
    try {
      if (answer) localStorage.setItem(config.pending, JSON.stringify(answer));
      else localStorage.removeItem(config.pending);
    } catch { /* storage is switched off: the answer lives as long as this page */ }
  };
  const remembered = () => {
    try {
      return JSON.parse(localStorage.getItem(config.pending));
    } catch {
      return null;
    }
  };

  let blurs = 0;
  window.addEventListener("blur", () => { blurs += 1; });

  let current = null;
  async function load() {
    const pending = remembered();
    if (pending) {
      await survey.persist("api/answer", pending, trouble);
      remember(null);
    }
    const answer = await survey.persist("api/trial", undefined, trouble);
    current = answer.status === 200 ? answer.body : { state: "gone" };
    survey.works();
    showProgress();
  }

  async function submit(choice, rt) {
    const answer = { token: current.token, answer: choice, rt_ms: Math.max(0, Math.round(rt)), n_blurs: blurs };
    remember(answer);
    const slow = setTimeout(() => {
      sending.textContent = texts.saving;
      sending.hidden = false;
    }, 700);
    const reply = await survey.persist("api/answer", answer, (failures) => {
      clearTimeout(slow);
      trouble(failures);
    });
    clearTimeout(slow);
    trouble(0);
    remember(null);
    current = reply.body.state ? reply.body : { state: "gone" };
    showProgress();
  }

  function showProgress() {
    if (current.total) {
      bar.max = current.total;
      bar.value = current.done;
      document.getElementById("progress-text").textContent = texts.done.replace("{done}", current.done).replace("{total}", current.total);
    }
  }

  const heading = (text) => `<h2 class="label">${escape(text)}</h2>`;
  const passage = (text, id) => `<p class="scenario" lang="${config.language}"${id ? ` id="${id}" tabindex="-1"` : ""}>${escape(text)}</p>`;

  function stimulus() {
    const badge = current.practice ? `<p class="badge">${escape(texts.practice)}</p>` : "";
    const parts = config.evalType === "choice"
      ? [heading(texts.contexts), ...current.contexts.map((text, k) => passage(`${k + 1}. ${text}`, k ? "" : "begin")),
        heading(texts.scenario), passage(current.target)]
      : [heading(texts.scenario), passage([...current.contexts, current.target].join(current.join), "begin")];
    // A small screen shows the question alone: what follows explains numbers that have labels there.
    const end = config.response === "text" ? -1 : config.task.search(/\? |？/);
    const [question, rest] = end < 0 ? [config.task, ""] : [config.task.slice(0, end + 1), config.task.slice(end + 1)];
    return `${badge}${parts.join("")}<p class="task" id="task" lang="${config.language}">${escape(question)}<span class="explained">${escape(rest)}</span></p>`;
  }

  const jsPsych = initJsPsych({ display_element: place, on_finish: survey.home });

  // Names what a screen reader meets, and begins reading at the new text.
  function arrange(group) {
    blurs = 0;
    if (group) {
      group.setAttribute("role", "group");
      group.setAttribute("aria-labelledby", "task");
    }
    document.getElementById("begin").focus({ preventScroll: true });
    window.scrollTo(0, 0);
  }

  document.addEventListener("keydown", (event) => {
    if (event.repeat || event.ctrlKey || event.altKey || event.metaKey) return;
    // The digit that is meant, also where the keyboard has it above Shift.
    const key = /^(Digit|Numpad)\d$/.test(event.code) ? event.code.slice(-1) : event.key;
    const button = document.querySelector(`.answer[data-key="${CSS.escape(key)}"]`);
    if (button && !button.disabled) button.click();
  });

  const button = (words, index) => {
    const label = words ? `<span class="words" lang="${config.language}">${escape(words)}</span>` : "";
    return `<button type="button" class="answer" data-key="${index + 1}"><span class="number">${index + 1}</span>${label}</button>`;
  };

  const pressed = {
    type: jsPsychHtmlButtonResponse,
    stimulus,
    choices: config.answers,
    button_html: button,
    enable_button_after: DEAF_MILLISECONDS,
    on_load: () => arrange(document.getElementById("jspsych-html-button-response-btngroup")),
    on_finish: (trial) => submit(trial.response + 1, trial.rt),
  };

  const last = config.answers.length;
  const typed = {
    type: jsPsychSurveyHtmlForm,
    preamble: stimulus,
    html: `<input type="text" id="number" name="number" class="short" aria-labelledby="task" inputmode="numeric" required
      pattern="\\s*[1-${last}]\\s*" title="${escape(texts.number.replace("{last}", last))}" autocomplete="off">`,
    button_label: texts.continue,
    on_load: () => {
      arrange(null);
      document.getElementById("number").focus({ preventScroll: true });
    },
    on_finish: (trial) => submit(Number(trial.response.number.trim()), trial.rt),
  };

  const pause = {
    type: jsPsychHtmlButtonResponse,
    stimulus: () => `${heading(texts.break)}<p id="begin" tabindex="-1">${escape(texts.rest)}</p>`,
    choices: [texts.continue],
    button_html: (words) => `<button type="button" class="answer" id="continue">${escape(words)}</button>`,
    enable_button_after: DEAF_MILLISECONDS,
    on_load: () => {
      document.getElementById("jspsych-html-button-response-btngroup").classList.add("rest");
      document.getElementById("begin").focus({ preventScroll: true });
    },
  };

  await load();
  const isTrial = () => current.state === "trial";
  if (!isTrial()) {
    survey.home();
    return;
  }
  await jsPsych.run([{
    timeline: [
      { timeline: [pause], conditional_function: () => isTrial() && current.break },
      { timeline: [config.response === "text" ? typed : pressed], conditional_function: isTrial },
    ],
    loop_function: isTrial,
  }]);
})();
