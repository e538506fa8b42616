import PowerSyncCore

extension LocalDatabase {
    /// The names of the tables in SQLite, in lower case, whose changes are changes of a view.
    ///
    /// A name that the schema does not know may be that of a table of the app.
    func tableNames(of view: String) -> Set<String> {
        let view = view.lowercased()
        let names = Set([true, false].map { DataTable(name: view, isLocalOnly: $0).internalName })
        let tables = (currentSchema?.tables ?? []).filter { $0.viewName.lowercased() == view }
        // A view of ours has no rows of its own.
        return names.union(tables.isEmpty ? [view] : tables.map { $0.internalName.lowercased() })
    }
}
