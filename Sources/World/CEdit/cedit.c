/* SPDX-License-Identifier: Apache-2.0 */
#include "cedit.h"

#include <dlfcn.h>
#include <errno.h>
#include <histedit.h>
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SYMBOLS(X) \
    X(el_init) X(el_end) X(el_set) X(el_get) X(el_gets) X(el_line) X(el_resize) X(history_init) X(history_end) X(history)
#define DECLARE(name) static __typeof__(name) *p_##name;
SYMBOLS(DECLARE)
#undef DECLARE

struct cedit {
    EditLine *editor;
    History *history;
    char *prompt;
    char *line;
    int isActive;
};

static const char *load(void) {
    static const char *missing;
    static int isLoaded;
    if (isLoaded) return missing;
    isLoaded = 1;
    void *library = dlopen("libedit.so.2", RTLD_NOW | RTLD_LOCAL);
    if (!library) return missing = "libedit is not installed";
#define FIND(name) \
    if (!(p_##name = (__typeof__(p_##name))dlsym(library, #name))) missing = "libedit lacks " #name;
    SYMBOLS(FIND)
#undef FIND
    return missing;
}

static char *prompt_of(EditLine *editor) {
    void *data = NULL;
    p_el_get(editor, EL_CLIENTDATA, &data);
    return data ? ((cedit *)data)->prompt : "";
}

cedit *cedit_open(const char *prompt, char *reason, size_t room) {
    const char *missing = load();
    if (missing) {
        snprintf(reason, room, "%s", missing);
        return NULL;
    }
    /* Keys of more than one octet: the person's own encoding, else UTF-8. */
    const char *locale = setlocale(LC_CTYPE, "");
    if (!locale || !strcmp(locale, "C") || !strcmp(locale, "POSIX")) setlocale(LC_CTYPE, "C.UTF-8");
    cedit *e = calloc(1, sizeof *e);
    if (!e) return NULL;
    e->prompt = strdup(prompt);
    e->editor = p_el_init("handset", stdin, stdout, stderr);
    e->history = p_history_init();
    if (!e->editor || !e->history || !e->prompt) {
        snprintf(reason, room, "libedit gives no editor for this terminal");
        cedit_close(e);
        return NULL;
    }
    HistEvent event;
    p_history(e->history, &event, H_SETSIZE, 500);
    p_history(e->history, &event, H_SETUNIQUE, 1);
    p_el_set(e->editor, EL_CLIENTDATA, (void *)e);
    p_el_set(e->editor, EL_SIGNAL, 0);
    p_el_set(e->editor, EL_PROMPT, prompt_of);
    p_el_set(e->editor, EL_EDITOR, "emacs");
    p_el_set(e->editor, EL_HIST, p_history, e->history);
    p_el_set(e->editor, EL_BIND, "\033[A", "ed-prev-history", NULL);
    p_el_set(e->editor, EL_BIND, "\033[B", "ed-next-history", NULL);
    p_el_set(e->editor, EL_BIND, "^R", "em-inc-search-prev", NULL);
    return e;
}

void cedit_begin(cedit *e) {
    if (e->isActive) return;
    p_el_set(e->editor, EL_UNBUFFERED, 1);
    e->isActive = 1;
}

static void finish(cedit *e) {
    if (!e->isActive) return;
    p_el_set(e->editor, EL_UNBUFFERED, 0);
    e->isActive = 0;
}

enum cedit_step cedit_key(cedit *e) {
    int count = 0;
    errno = 0;
    const char *text = p_el_gets(e->editor, &count);
    if (!text || count <= 0) {
        /* An empty line looks the same as an error, but for the reason. */
        if (!errno || errno == EINTR || errno == EAGAIN) return CEDIT_MORE;
        finish(e);
        return CEDIT_END;
    }
    char last = text[count - 1];
    if (count == 1 && last == 4) {
        finish(e);
        return CEDIT_END;
    }
    if (last != '\n' && last != '\r') return CEDIT_MORE;
    free(e->line);
    e->line = strndup(text, (size_t)count - 1);
    finish(e);
    return CEDIT_LINE;
}

const char *cedit_text(cedit *e) { return e->line ? e->line : ""; }

size_t cedit_before_cursor(cedit *e) {
    if (!e->isActive) return 0;
    const LineInfo *info = p_el_line(e->editor);
    size_t count = 0;
    for (const char *p = info->buffer; p < info->cursor; p++)
        if (((unsigned char)*p & 0xc0) != 0x80) count++;
    return count;
}

void cedit_redraw(cedit *e) {
    if (e->isActive) p_el_set(e->editor, EL_REFRESH, NULL);
}

void cedit_resize(cedit *e) { p_el_resize(e->editor); }

void cedit_remember(cedit *e, const char *line) {
    HistEvent event;
    p_history(e->history, &event, H_ENTER, line);
}

int cedit_load_history(cedit *e, const char *path) {
    HistEvent event;
    return p_history(e->history, &event, H_LOAD, path);
}

int cedit_save_history(cedit *e, const char *path) {
    HistEvent event;
    return p_history(e->history, &event, H_SAVE, path);
}

void cedit_close(cedit *e) {
    if (e->editor) {
        finish(e);
        p_el_end(e->editor);
    }
    if (e->history) p_history_end(e->history);
    free(e->prompt);
    free(e->line);
    free(e);
}
