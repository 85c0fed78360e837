// Keys: security keys, the second factor of what a policy wants with key.
"use strict";

const NO_TOUCH = "The browser has no answer of a key: it was not touched, has no PIN or fingerprint, or was declined.";

function toBase64(buffer) {
	return btoa(String.fromCharCode(...new Uint8Array(buffer)))
	    .replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
}

function fromBase64(text) {
	return Uint8Array.from(atob(text.replaceAll("-", "+").replaceAll("_", "/")), (c) => c.charCodeAt(0));
}

// What a key signs for exactly this approval. The keeper draws the challenge, and judges.
async function keyAssertion(sha256) {
	const asked = await api("POST", "keys/challenge", {sha256});

	say("Touch the security key. It also asks for its PIN or a fingerprint.");
	const made = await navigator.credentials.get({publicKey: {
		challenge: fromBase64(asked.challenge), rpId: asked.rp_id, timeout: asked.timeout_ms,
		userVerification: "required", allowCredentials: asked.keys.map((id) => ({type: "public-key", id: fromBase64(id)})),
	}}).catch((error) => {
		throw error.name === "NotAllowedError" ? new Error(NO_TOUCH) : error;
	});
	return {challenge: asked.challenge, id: toBase64(made.rawId), client_data: toBase64(made.response.clientDataJSON),
		authenticator_data: toBase64(made.response.authenticatorData), signature: toBase64(made.response.signature)};
}

// The passphrase is typed into a page of another program.
async function openKeyForm(event) {
	try {
		const link = formLink((await api("POST", "form", {what: "key"})).url);

		event.target.after(element("p", {}, link));
		link.focus();
		say("A form was opened for a new key. It closes after five minutes.");
	} catch (error) {
		say(error.message);
	}
}

pages.keys = {
	title: "Keys",
	async load(background) {
		const {keys, vault} = await api("GET", "keys", null, background);
		const how = {none: "There is no vault yet: run kennel secret init in a terminal.",
			locked: "The vault is locked, and the list of keys is in it: run kennel secret unlock in a terminal."};

		return [element("p", {}, "A grant with key is allowed only with the signature of a security key for exactly this "
		    + "approval. Keys are kept in the vault; adding or removing one takes its passphrase."),
		how[vault] ? element("p", {}, how[vault]) : keys.length === 0 ? element("p", {}, "No key is registered.")
		    : table("Registered keys", ["Name", "Added (UTC)", "Id", "Remove it in a terminal"], keys.map((k) => [k.label,
		        k.added.slice(0, 16).replace("T", " "), element("code", {}, k.id.slice(0, 16)),
		        element("code", {}, "kennel secret key remove " + k.id.slice(0, 16))])),
		vault === "none" ? null : element("p", {}, button("Register a key", openKeyForm))].filter(Boolean);
	},
};
