/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What the objects below /org/idled1 have in common: how they are shown.
 */
#include "bus/bus-parts.h"

int bus_list_nodes(const Bus *bus, BusPaths append, char ***ret_nodes)
{
        GPtrArray *nodes = g_ptr_array_new();

        append(bus, nodes);
        g_ptr_array_add(nodes, NULL);
        *ret_nodes = (char **)g_ptr_array_free(nodes, FALSE);
        return 0;
}

int bus_export_below(Bus *bus, const char *prefix, const char *interface,
                     const sd_bus_vtable *vtable, sd_bus_object_find_t find,
                     sd_bus_node_enumerator_t enumerate)
{
        int r = sd_bus_add_fallback_vtable(bus->connection, NULL, prefix, interface, vtable, find,
                                           bus);

        return r < 0 ? r
                     : sd_bus_add_node_enumerator(bus->connection, NULL, prefix, enumerate, bus);
}
