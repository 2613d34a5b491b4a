/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * JSON documents, thinly over json-c: what is absent is null, in and out.
 *
 * All functions take NULL for a document or value and treat it as null.
 */
#ifndef IDLED_JSON_H
#define IDLED_JSON_H

#include <glib.h>
#include <json-c/json.h>
#include <stdbool.h>
#include <stdint.h>

/* The member; NULL if it is not there or null. Belongs to the document. */
json_object *json_get(json_object *object, const char *key);

/* The member as text, "" if it is not a string. */
const char *json_text(json_object *object, const char *key);

/* The member as a number, `absent` if it is not one. */
double json_number(json_object *object, const char *key, double absent);
int64_t json_int(json_object *object, const char *key, int64_t absent);
bool json_true(json_object *object, const char *key);

/* The number of elements of an array; 0 if it is not an array. */
size_t json_length(json_object *array);

/* An element of an array; NULL, "" and NaN if it is not there or is something else. */
json_object *json_element(json_object *array, size_t i);
const char *json_element_text(json_object *array, size_t i);
double json_element_number(json_object *array, size_t i);

/* The number that the member is, or with element >= 0 that number of the array that it is; NaN if
 * it is not there or is something else. */
double json_number_at(json_object *object, const char *key, int element);

/* The first object of an array whose member is this text; NULL: there is none. */
json_object *json_find(json_object *array, const char *key, const char *text);

/* The same in an array of arrays, which begin with these texts; NULL: with any. */
json_object *json_find_row(json_object *rows, const char *first, const char *second);

/* Adds a member; each takes what is passed. */
void json_put(json_object *object, const char *key, json_object *value);
void json_put_text(json_object *object, const char *key, const char *text);     /* NULL: null */
void json_put_text_any(json_object *object, const char *key, const char *text); /* "": null too */
void json_put_int(json_object *object, const char *key, int64_t value);
/* The same, null if it is less than `least`. */
void json_put_int_from(json_object *object, const char *key, int64_t value, int64_t least);
void json_put_bool(json_object *object, const char *key, bool value);
/* With so many decimals; what is not finite is null. */
void json_put_real(json_object *object, const char *key, double value, int decimals);

/* Adds members of `other`, shared: "key=from same" adds `from` as `key`, and `same`. The second
 * adds texts: "" and what is no text are null. */
void json_put_members(json_object *object, json_object *other, const char *names);
void json_put_texts(json_object *object, json_object *other, const char *names);

/* An array of objects, one for each row of an array of arrays, whose elements are shared as members
 * of these names: "kind name why". */
json_object *json_name_rows(json_object *rows, const char *names);

/* A number that is 0 with so many decimals, without its sign: "-0.0" has no meaning of its own.
 * Others as they are. */
double json_rounded(double value, int decimals);

/* Adds an object, or a text, at the end of an array; the object is returned. */
json_object *json_add(json_object *array);
void json_add_text(json_object *array, const char *text);

json_object *json_real(double value, int decimals);
json_object *json_plain(double value); /* with six significant digits */
json_object *json_copy_strings(const char *const *strings);

/* The texts of an array with the separator between them, as a new string. */
char *json_join(json_object *texts, const char *separator);

/* Prints the document as json-c writes it with these flags, and a newline. */
void json_print(json_object *document, int flags);

/* Visits the elements of an array. */
#define JSON_FOREACH(element, array)                                                               \
        for (size_t element##_i = 0; element##_i < json_length(array) &&                           \
                                     ((element = json_element((array), element##_i)), true);       \
             element##_i++)

static inline void json_object_put_void(json_object *object)
{
        json_object_put(object);
}
G_DEFINE_AUTOPTR_CLEANUP_FUNC(json_object, json_object_put_void)

#endif
