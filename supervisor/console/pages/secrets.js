// Secrets: what is declared and when it expires.  There is no value here.
"use strict";

pages.secrets = {
	title: "Secrets",
	async load(background) {
		const secrets = (await api("GET", "secrets", null, background)).secrets;
		const kind = {registered: "good", expiring: "wait", expired: "bad"};

		if (secrets.length === 0)
			return [element("p", {}, "No secrets are declared. A value is stored with "),
			    element("pre", {}, "kennel secret set PATH")];
		return [element("p", {}, "The secrets that manifests declare. Values are typed in a terminal, with "
		    + "kennel secret set PATH, and are never shown."),
		table("Declared secrets", ["Path", "Status", "Expires", "Source", "Asked", "Used for"],
		    secrets.map((s) => [element("code", {}, s.path), badge(s.status, kind[s.status] || "idle"),
		        s.expires_at || "-", s.source_name || "-", s.approve_on_use || "-", s.capabilities_hint || "-"]))];
	},
};
