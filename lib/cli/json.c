/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * JSON documents.
 */
#include "cli/json.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

json_object *json_get(json_object *object, const char *key)
{
        json_object *value;

        if (!json_object_is_type(object, json_type_object) ||
            !json_object_object_get_ex(object, key, &value))
                return NULL;
        return value;
}

const char *json_text(json_object *object, const char *key)
{
        json_object *value = json_get(object, key);

        return json_object_is_type(value, json_type_string) ? json_object_get_string(value) : "";
}

static bool is_number(json_object *value)
{
        return json_object_is_type(value, json_type_double) ||
               json_object_is_type(value, json_type_int);
}

double json_number(json_object *object, const char *key, double absent)
{
        json_object *value = json_get(object, key);

        return is_number(value) ? json_object_get_double(value) : absent;
}

int64_t json_int(json_object *object, const char *key, int64_t absent)
{
        json_object *value = json_get(object, key);

        return is_number(value) ? json_object_get_int64(value) : absent;
}

bool json_true(json_object *object, const char *key)
{
        json_object *value = json_get(object, key);

        return json_object_is_type(value, json_type_boolean) && json_object_get_boolean(value);
}

size_t json_length(json_object *array)
{
        return json_object_is_type(array, json_type_array) ? json_object_array_length(array) : 0;
}

json_object *json_element(json_object *array, size_t i)
{
        return i < json_length(array) ? json_object_array_get_idx(array, i) : NULL;
}

const char *json_element_text(json_object *array, size_t i)
{
        json_object *value = json_element(array, i);

        return json_object_is_type(value, json_type_string) ? json_object_get_string(value) : "";
}

double json_element_number(json_object *array, size_t i)
{
        json_object *value = json_element(array, i);

        return is_number(value) ? json_object_get_double(value) : NAN;
}

double json_number_at(json_object *object, const char *key, int element)
{
        return element < 0 ? json_number(object, key, NAN)
                           : json_element_number(json_get(object, key), (size_t)element);
}

json_object *json_find(json_object *array, const char *key, const char *text)
{
        json_object *object;

        JSON_FOREACH(object, array)
                if (g_str_equal(json_text(object, key), text))
                        return object;
        return NULL;
}

json_object *json_find_row(json_object *rows, const char *first, const char *second)
{
        json_object *row;

        JSON_FOREACH(row, rows)
                if ((!first || g_str_equal(json_element_text(row, 0), first)) &&
                    (!second || g_str_equal(json_element_text(row, 1), second)))
                        return row;
        return NULL;
}

void json_put(json_object *object, const char *key, json_object *value)
{
        json_object_object_add(object, key, value);
}

void json_put_text(json_object *object, const char *key, const char *text)
{
        json_put(object, key, text ? json_object_new_string(text) : NULL);
}

void json_put_text_any(json_object *object, const char *key, const char *text)
{
        json_put_text(object, key, text && *text ? text : NULL);
}

void json_put_int(json_object *object, const char *key, int64_t value)
{
        json_put(object, key, json_object_new_int64(value));
}

void json_put_int_from(json_object *object, const char *key, int64_t value, int64_t least)
{
        json_put(object, key, value >= least ? json_object_new_int64(value) : NULL);
}

void json_put_bool(json_object *object, const char *key, bool value)
{
        json_put(object, key, json_object_new_boolean(value));
}

json_object *json_plain(double value)
{
        char text[64];

        if (!isfinite(value))
                return NULL;
        g_snprintf(text, sizeof(text), "%.6g", value);
        return json_object_new_double_s(value, text);
}

double json_rounded(double value, int decimals)
{
        double unit = pow(10, -decimals);

        return fabs(value) < unit / 2 ? 0 : value;
}

json_object *json_add(json_object *array)
{
        json_object *object = json_object_new_object();

        json_object_array_add(array, object);
        return object;
}

void json_add_text(json_object *array, const char *text)
{
        json_object_array_add(array, json_object_new_string(text));
}

json_object *json_real(double value, int decimals)
{
        char text[64];

        if (!isfinite(value))
                return NULL;
        value = json_rounded(value, decimals);
        g_snprintf(text, sizeof(text), "%.*f", decimals, value);
        return json_object_new_double_s(value, text);
}

void json_put_real(json_object *object, const char *key, double value, int decimals)
{
        json_put(object, key, json_real(value, decimals));
}

static void put_members(json_object *object, json_object *other, const char *names, bool texts)
{
        g_auto(GStrv) list = g_strsplit(names, " ", -1);

        for (char **name = list; *name; name++) {
                char *equals = strchr(*name, '=');
                const char *from = equals ? equals + 1 : *name;

                if (equals)
                        *equals = '\0';
                if (texts)
                        json_put_text_any(object, *name, json_text(other, from));
                else
                        json_put(object, *name, json_object_get(json_get(other, from)));
        }
}

void json_put_members(json_object *object, json_object *other, const char *names)
{
        put_members(object, other, names, false);
}

void json_put_texts(json_object *object, json_object *other, const char *names)
{
        put_members(object, other, names, true);
}

static json_object *name_elements(json_object *array, const char *names)
{
        g_auto(GStrv) list = g_strsplit(names, " ", -1);
        json_object *object = json_object_new_object();

        for (size_t i = 0; list[i]; i++)
                json_put(object, list[i], json_object_get(json_element(array, i)));
        return object;
}

json_object *json_name_rows(json_object *rows, const char *names)
{
        json_object *objects = json_object_new_array(), *row;

        JSON_FOREACH(row, rows)
                json_object_array_add(objects, name_elements(row, names));
        return objects;
}

json_object *json_copy_strings(const char *const *strings)
{
        json_object *array = json_object_new_array();

        for (; strings && *strings; strings++)
                json_object_array_add(array, json_object_new_string(*strings));
        return array;
}

void json_print(json_object *document, int flags)
{
        puts(json_object_to_json_string_ext(document, flags | JSON_C_TO_STRING_NOSLASHESCAPE));
}

char *json_join(json_object *texts, const char *separator)
{
        GString *joined = g_string_new(NULL);

        for (size_t i = 0; i < json_length(texts); i++)
                g_string_append_printf(joined, "%s%s", i ? separator : "",
                                       json_element_text(texts, i));
        return g_string_free(joined, FALSE);
}
