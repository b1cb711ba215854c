// Forms of all pages: what they send goes as JSON to this server only, and is sent again until it is acknowledged.
"use strict";

const survey = (() => {
  const prefix = document.body.dataset.prefix;
  const texts = JSON.parse(document.body.dataset.texts);
  const pause = (milliseconds) => new Promise((resolve) => setTimeout(resolve, milliseconds));

  // One request. A connection that fails, a busy server and a limit are not answers: null, or "wait".
  async function request(path, body) {
    const options = body === undefined ? {} : {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify(body),
    };
    try {
      const limit = AbortSignal.timeout ? { signal: AbortSignal.timeout(20000) } : {};
      const response = await fetch(prefix + path, { ...options, ...limit, cache: "no-store", credentials: "same-origin" });
      if (response.status === 429) return "wait";
      if (response.status === 408 || response.status >= 500) return null;
      return { status: response.status, body: await response.json() };
    } catch {
      return null;
    }
  }

  // Until there is an answer; onTrouble is called with the number of failures before each new attempt, and with 0 at the end.
  async function persist(path, body, onTrouble) {
    for (let failures = 0; ; failures += 1) {
      const answer = await request(path, body);
      if (answer && answer !== "wait") {
        if (failures) onTrouble(0);
        return answer;
      }
      onTrouble(failures + 1, answer === "wait");
      await Promise.race([
        pause(Math.min(8000, 500 * 2 ** failures) * (0.75 + Math.random() / 2)),
        new Promise((resolve) => window.addEventListener("online", resolve, { once: true })),
      ]);
    }
  }

  const home = () => window.location.replace(prefix);
  // The page warns of blocked scripts until they run.
  const works = () => { document.getElementById("blocked").hidden = true; };
  return { persist, home, pause, texts, works };
})();

(() => {
  const texts = survey.texts.frame;
  const mistakes = survey.texts.demographics;
  if (document.body.dataset.page !== "trials") survey.works();
  const problem = document.getElementById("problem");
  const tell = (text) => {
    problem.textContent = text;
    problem.hidden = !text;
  };
  const trouble = (failures, isCrowded) => tell(failures ? (isCrowded ? texts.waiting : texts.unreachable) : "");

  async function send(form, path, body, buttons) {
    buttons.forEach((button) => { button.disabled = true; });
    const answer = await survey.persist(path, body, trouble);
    const isAgain = answer.status === 200 && answer.body.state === "again";
    if (answer.status === 422 || isAgain) {
      tell(isAgain ? form.dataset.feedback : texts.check);
      buttons.forEach((button) => { button.disabled = false; });
      problem.scrollIntoView({ block: "nearest" });
    } else {
      survey.home();
    }
  }

  const demographics = (form) => {
    const answers = {};
    let first = null;
    for (const field of form.querySelectorAll("[data-question]")) {
      const name = field.dataset.question;
      const mistake = document.getElementById(`${name}-mistake`);
      let text = "";
      if (name === "gender") {
        const chosen = form.querySelector("input[name=gender]:checked");
        if (!chosen) text = mistakes.choose;
        else answers[name] = chosen.value || null;
      } else if (form.elements[`${name}-none`].checked) {
        answers[name] = null;
      } else {
        const given = form.elements[name].value.trim();
        if (!given) text = mistakes.answer;
        else if (name !== "age") answers[name] = given;
        else if (!/^\d{1,3}$/.test(given) || Number(given) > 120) text = mistakes.number;
        else answers[name] = Number(given);
      }
      mistake.textContent = text;
      mistake.hidden = !text;
      const input = field.querySelector("input");
      if (text) {
        input.setAttribute("aria-invalid", "true");
        input.setAttribute("aria-describedby", mistake.id);
      } else {
        input.removeAttribute("aria-invalid");
        input.removeAttribute("aria-describedby");
      }
      first = first || (text ? input : null);
    }
    if (first) first.focus();
    return first ? null : answers;
  };

  const bodies = {
    consent: () => ({ agree: true }),
    demographics,
    begin: (form) => {
      const chosen = form.querySelector("input[name=meaning]:checked");
      return chosen ? { meaning: chosen.value } : {};
    },
    comment: (form) => ({ words: form.elements.words.value }),
    withdraw: () => ({ sure: true }),
  };

  for (const form of document.querySelectorAll("form[data-endpoint]")) {
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      const body = bodies[form.id](form);
      if (body) send(form, form.dataset.endpoint, body, [...form.querySelectorAll("button")]);
    });
  }
  for (const button of document.querySelectorAll("button[data-post]")) {
    button.addEventListener("click", () => send(button, button.dataset.post, {}, [button]));
  }
  for (const box of document.querySelectorAll("#demographics input[type=checkbox]")) {
    box.addEventListener("change", () => {
      document.getElementById(box.id.replace(/-none$/, "")).disabled = box.checked;
    });
  }
  const consent = document.getElementById("consent");
  const isPhone = Math.min(window.screen.width, window.screen.height) < 600 && window.matchMedia("(pointer: coarse)").matches;
  if (consent && consent.dataset.devices === "desktop" && isPhone) {
    consent.hidden = true;
    document.getElementById("phone").hidden = false;
  }
  // A page that the browser kept in memory may be out of date: the server knows where this person is.
  window.addEventListener("pageshow", (event) => {
    if (event.persisted) survey.home();
  });
})();
