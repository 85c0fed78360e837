// Forms: fields with their errors, and dialogs.
"use strict";

// Arguments are separated by commas; a backslash takes what follows as it is.
function splitArgs(text) {
	const args = [];
	let one = "";

	for (let i = 0; i < text.length; i++)
		if (text[i] === "\\" && i + 1 < text.length) {
			one += text[++i];
		} else if (text[i] === ",") {
			args.push(one.trim());
			one = "";
		} else {
			one += text[i];
		}
	return one.trim() === "" && args.length === 0 ? [] : [...args, one.trim()];
}

// A labelled field with its hint and, beside it, what is wrong with it.
function formField(name, label, hint, input) {
	const error = element("p", {id: "field-" + name + "-error", class: "bad"});

	input.id = "field-" + name;
	input.setAttribute("aria-describedby", "field-" + name + "-hint field-" + name + "-error");
	return {name, input, error, first: input.value, made: element("div", {class: "field"},
	    element("label", {for: input.id}, label), input,
	    element("p", {id: "field-" + name + "-hint"}, hint), error)};
}

function textInput(value, attributes) {
	const input = element("input", {type: "text", autocomplete: "off", spellcheck: "false", ...attributes});

	input.value = value || "";
	return input;
}

function showFieldError(fields, error, status) {
	const wrong = fields[error.field];

	status.textContent = wrong ? "" : inert(error.message);
	if (!wrong)
		return;
	wrong.error.textContent = inert(error.message);
	wrong.input.setAttribute("aria-invalid", "true");
	wrong.input.focus();
}

function clearErrors(fields) {
	for (const field of Object.values(fields)) {
		field.error.textContent = "";
		field.input.removeAttribute("aria-invalid");
	}
}

function openDialog(dialog) {
	dialog.addEventListener("close", () => dialog.remove());
	document.body.append(dialog);
	dialog.showModal();
	return dialog;
}

function focusButton(label) {
	const found = [...document.querySelectorAll("button")].find((b) => (b.getAttribute("aria-label") || b.textContent) === label);

	(found || document.getElementById("content")).focus();
}
