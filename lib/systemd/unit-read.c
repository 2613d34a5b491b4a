/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Reading the CPUs that loaded units name.
 *
 * All units are listed once. Afterwards systemd announces which units it loads and unloads, and
 * when it has reloaded its files. systemd loads a unit when a client reads one of its properties,
 * and announces this too: so a new unit is only read while it is loaded, or reading would never
 * end. Few properties are read of each unit, because GetAll would make systemd collect three
 * hundred of a service. Requests are sent for READINGS_MAX units at a time, because the system bus
 * refuses more than 128 without an answer. Answers are handled in the event loop, so that neither
 * systemd nor idled is blocked. A systemd that is busy starting units may answer late, which is
 * harmless here.
 */
#include "systemd/unit-read.h"

#include "base/log.h"

#define READINGS_MAX 8

/* MPOL_PREFERRED and MPOL_BIND of <linux/mempolicy.h>. */
#define NUMA_PREFERRED 1
#define NUMA_BIND      2

/* One unit that is being read. */
typedef struct Reading {
        UnitReader *reader;
        char *unit;
        UnitCpus cpus;
        GPtrArray *slots; /* of sd_bus_slot */
        unsigned pending; /* answers that have not come */
} Reading;

struct UnitReader {
        UnitBus *bus;
        const UnitListener *listener;
        GQueue *unread;       /* names of listed units whose CPUs are still to be read */
        GQueue *newcomers;    /* and of units that came since, which are read before these */
        GHashTable *readings; /* name -> Reading: those that are being read */
        sd_bus_slot *list;    /* of the question for all units */
        bool listing;         /* all units are being read */
};

/* A property, and the member of UnitCpus that its value goes to: CPUs, or a truth value. */
typedef struct Property {
        const char *name, *type;
        size_t member;
        bool services_only;
} Property;

static const Property properties[] = {
        { "AllowedCPUs", "ay", offsetof(UnitCpus, allowed), false },
        { "CPUAffinity", "ay", offsetof(UnitCpus, affinity), true },
        { "CPUAffinityFromNUMA", "b", offsetof(UnitCpus, numa_affinity), true },
        { "NUMAMask", "ay", offsetof(UnitCpus, nodes), true },
        { "NUMAPolicy", "i", offsetof(UnitCpus, numa_bound), true },
        { "Type", "s", offsetof(UnitCpus, oneshot), true },
};

static void take_value(sd_bus_message *value, const Property *property, UnitCpus *cpus)
{
        void *member = (char *)cpus + property->member;
        const char *text = "";
        int number = 0;

        switch (*property->type) {
        case 'a':
                unit_read_cpus(value, member);
                return;
        case 's':
                sd_bus_message_read(value, "s", &text);
                number = g_str_equal(text, "oneshot");
                break;
        case 'i':
                sd_bus_message_read(value, "i", &number);
                number = number == NUMA_PREFERRED || number == NUMA_BIND;
                break;
        default:
                sd_bus_message_read(value, "b", &number);
        }
        *(bool *)member = number;
}

static void reading_free(void *data)
{
        Reading *reading = data;

        g_ptr_array_unref(reading->slots);
        g_free(reading->unit);
        g_free(reading);
}

static void read_next(UnitReader *reader);

static void finish(Reading *reading)
{
        UnitReader *reader = reading->reader;

        g_hash_table_steal(reader->readings, reading->unit);
        if (reader->listener->cpus)
                reader->listener->cpus(reading->unit, &reading->cpus, reader->listener->userdata);
        reading_free(reading);
        read_next(reader);
}

/* Slots stay until the whole unit is read, so the answer says by its own slot what it is about. */
static int on_property(sd_bus_message *message, void *userdata, sd_bus_error *error)
{
        Reading *reading = userdata;
        sd_bus_slot *slot = sd_bus_get_current_slot(sd_bus_message_get_bus(message));
        const Property *property = NULL;
        const char *name = NULL;

        if (sd_bus_slot_get_description(slot, &name) >= 0)
                for (size_t i = 0; i < G_N_ELEMENTS(properties); i++)
                        if (g_str_equal(properties[i].name, name))
                                property = &properties[i];
        if (property && !sd_bus_message_is_method_error(message, NULL) &&
            sd_bus_message_enter_container(message, 'v', property->type) >= 0)
                take_value(message, property, &reading->cpus);
        if (--reading->pending == 0)
                finish(reading);
        return 0;
}

static int ask(Reading *reading, const char *path, const char *interface, const Property *property)
{
        sd_bus_slot *slot = NULL;
        int r = unit_ask(reading->reader->bus, path, interface, property->name, NULL, on_property,
                         reading, &slot);

        if (r < 0)
                return r;
        sd_bus_slot_set_description(slot, property->name);
        g_ptr_array_add(reading->slots, slot);
        reading->pending++;
        return 0;
}

/* False if nothing could be asked. */
static bool ask_all(Reading *reading, const char *path)
{
        const char *interface = unit_interface(reading->unit);
        bool service = g_str_has_suffix(reading->unit, ".service");

        for (size_t i = 0; i < G_N_ELEMENTS(properties); i++)
                if (service || !properties[i].services_only)
                        ask(reading, path, interface, &properties[i]);
        return reading->pending > 0;
}

static int on_loaded(sd_bus_message *message, void *userdata, sd_bus_error *error)
{
        Reading *reading = userdata;
        UnitReader *reader = reading->reader;
        const char *path;

        if (!sd_bus_message_is_method_error(message, NULL) &&
            sd_bus_message_read(message, "o", &path) >= 0 && ask_all(reading, path))
                return 0;
        g_hash_table_remove(reader->readings, reading->unit);
        read_next(reader);
        return 0;
}

static bool ask_if_loaded(Reading *reading)
{
        sd_bus_slot *slot = NULL;
        int r = unit_ask(reading->reader->bus, SYSTEMD_PATH, SYSTEMD_MANAGER, "GetUnit",
                         reading->unit, on_loaded, reading, &slot);

        if (r >= 0)
                g_ptr_array_add(reading->slots, slot);
        return r >= 0;
}

/* Reads a unit of which systemd has just said that it is loaded, or one that came. */
static void read_unit(UnitReader *reader, const char *unit, bool came)
{
        g_autofree char *path = NULL;
        Reading *reading;

        if (!unit_interface(unit) || sd_bus_path_encode(UNITS_PATH, unit, &path) < 0)
                return;
        reading = g_new0(Reading, 1);
        reading->reader = reader;
        reading->unit = g_strdup(unit);
        reading->slots = g_ptr_array_new_with_free_func(unit_slot_free);
        g_hash_table_replace(reader->readings, reading->unit, reading);
        if (came ? !ask_if_loaded(reading) : !ask_all(reading, path))
                g_hash_table_remove(reader->readings, unit);
}

static void end_listing(UnitReader *reader, int error)
{
        reader->listing = false;
        if (reader->listener->listed)
                reader->listener->listed(error, reader->listener->userdata);
}

static void read_next(UnitReader *reader)
{
        while (g_hash_table_size(reader->readings) < READINGS_MAX) {
                bool came = !g_queue_is_empty(reader->newcomers);
                g_autofree char *unit = g_queue_pop_head(came ? reader->newcomers : reader->unread);

                if (!unit)
                        break;
                read_unit(reader, unit, came);
        }
        if (reader->listing && g_hash_table_size(reader->readings) == 0)
                end_listing(reader, 0);
}

void unit_reader_read(UnitReader *reader, const char *unit)
{
        if (g_hash_table_contains(reader->readings, unit))
                return;
        g_queue_push_head(reader->newcomers, g_strdup(unit));
        read_next(reader);
}

static int on_units(sd_bus_message *message, void *userdata, sd_bus_error *error)
{
        UnitReader *reader = userdata;
        const char *unit, *load;
        int r = sd_bus_message_is_method_error(message, NULL)
                        ? -sd_bus_message_get_errno(message)
                        : sd_bus_message_enter_container(message, 'a', "(ssssssouso)");

        while (r >= 0 && (r = sd_bus_message_read(message, "(ssssssouso)", &unit, NULL, &load, NULL,
                                                  NULL, NULL, NULL, NULL, NULL, NULL)) > 0)
                if (unit_interface(unit) && g_str_equal(load, "loaded"))
                        g_queue_push_tail(reader->unread, g_strdup(unit));
        if (r < 0) {
                log_debug("Failed to list systemd's units: %s", g_strerror(-r));
                end_listing(reader, r);
        } else {
                read_next(reader);
        }
        return 0;
}

void unit_reader_read_all(UnitReader *reader)
{
        int r;

        unit_reader_forget(reader);
        if (reader->listener->cpus)
                reader->listener->cpus(NULL, NULL, reader->listener->userdata);
        reader->listing = true;
        r = unit_ask(reader->bus, SYSTEMD_PATH, SYSTEMD_MANAGER, "ListUnits", NULL, on_units,
                     reader, &reader->list);
        if (r < 0)
                end_listing(reader, r);
}

void unit_reader_forget(UnitReader *reader)
{
        g_queue_clear_full(reader->unread, g_free);
        g_queue_clear_full(reader->newcomers, g_free);
        g_hash_table_remove_all(reader->readings);
        reader->list = sd_bus_slot_unref(reader->list);
        reader->listing = false;
}

UnitReader *unit_reader_new(UnitBus *bus, const UnitListener *listener)
{
        UnitReader *reader = g_new0(UnitReader, 1);

        reader->bus = bus;
        reader->listener = listener;
        reader->unread = g_queue_new();
        reader->newcomers = g_queue_new();
        reader->readings = g_hash_table_new_full(g_str_hash, g_str_equal, NULL, reading_free);
        return reader;
}

void unit_reader_free(UnitReader *reader)
{
        unit_reader_forget(reader);
        g_queue_free(reader->unread);
        g_queue_free(reader->newcomers);
        g_hash_table_unref(reader->readings);
        g_free(reader);
}
