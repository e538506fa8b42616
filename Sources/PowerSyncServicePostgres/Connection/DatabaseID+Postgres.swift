import PowerSyncServiceCore

extension DatabaseID {
    /// Asks for the id of the database of a session: that of the cluster, and the OID in it.
    static let query = """
        SELECT 'postgresql ' || c.system_identifier || '.' || d.oid FROM pg_control_system() AS c, pg_database AS d
        WHERE d.datname = current_database()
        """
}
