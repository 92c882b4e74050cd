/* SPDX-License-Identifier: Apache-2.0
 *
 * Line editing and history of libedit, one key at a time, so that its thread can also print above the line being typed.
 * libedit is loaded when the first editor is opened. Every function is for one thread.
 */
#ifndef CEDIT_H
#define CEDIT_H

#include <stddef.h>

typedef struct cedit cedit;

enum cedit_step { CEDIT_MORE = 0, CEDIT_LINE = 1, CEDIT_END = 2 };

/* Opens an editor on standard input and output, which must be a terminal. NULL with words in `reason` if libedit is not there. */
cedit *_Nullable cedit_open(const char *_Nonnull prompt, char *_Nonnull reason, size_t room);

/* Shows the prompt and takes the keys from now on. */
void cedit_begin(cedit *_Nonnull editor);

/* Takes one key; call it when standard input can be read. With CEDIT_LINE the line is in `cedit_text`, and `cedit_begin` goes on. */
enum cedit_step cedit_key(cedit *_Nonnull editor);
const char *_Nonnull cedit_text(cedit *_Nonnull editor);

/* How many characters stand before the cursor in the line being typed. */
size_t cedit_before_cursor(cedit *_Nonnull editor);

/* Draws prompt and line again where the cursor is now, after something else was written. */
void cedit_redraw(cedit *_Nonnull editor);

/* Tells that the window has another size. */
void cedit_resize(cedit *_Nonnull editor);

void cedit_remember(cedit *_Nonnull editor, const char *_Nonnull line);
int cedit_load_history(cedit *_Nonnull editor, const char *_Nonnull path);
int cedit_save_history(cedit *_Nonnull editor, const char *_Nonnull path);

/* Gives the terminal back as it was. */
void cedit_close(cedit *_Nonnull editor);

#endif
