/*
 * Ids of tasks and of elicitations toward the agent, with the name of their server
 * (tasks.c), and what a person may read about a task.
 */
#include <string.h>

#include "supervisor/serve/asked/asked_text.h"

#define RELATED "io.modelcontextprotocol/related-task"

/* The opening quotation mark becomes "SERVER. */
void
prefix_id(
    struct edits *e, const struct task_texts *t, struct json object, const char *member)
{
	struct json id;

	if (edit_find(e, object, member, &id) && id.type == JSON_IS_STRING)
		edit_put(e, id.at, 1, t->prefix, strlen(t->prefix));
}

/* The id, and the text that a person may read about the task. */
static void
rename_task(struct edits *e, struct json object, const struct task_texts *t)
{
	struct json id, said;

	if (!edit_find(e, object, "taskId", &id) || id.type != JSON_IS_STRING)
		return;
	prefix_id(e, t, object, "taskId");
	if (edit_find(e, object, "statusMessage", &said))
		asked_name(e, said, t);
}

void
tasks_rename(struct edits *e, struct json object, const struct task_texts *t)
{
	struct json task, meta, list, key, item;
	struct json_walk w;

	rename_task(e, object, t);
	if (edit_find(e, object, "task", &task))
		rename_task(e, task, t);
	if (edit_find(e, object, "_meta", &meta) && edit_find(e, meta, RELATED, &task))
		prefix_id(e, t, task, "taskId");
	if (!edit_find(e, object, "tasks", &list) || list.type != JSON_IS_ARRAY)
		return;
	json_walk(&w, list);
	while (json_next(&w, &key, &item))
		rename_task(e, item, t);
}

void
tasks_unname(struct edits *e, const struct task_texts *t, struct json object)
{
	struct json meta, task, id;
	size_t n = strlen(t->prefix);

	if (object.type == JSON_IS_OBJECT && json_get(object, "_meta", &meta) == 0 &&
	    json_get(meta, RELATED, &task) == 0 && json_get(task, "taskId", &id) == 0 &&
	    id.type == JSON_IS_STRING && id.len > n && memcmp(id.at, t->prefix, n) == 0)
		edit_put(e, id.at, n, "\"", 1);
}
