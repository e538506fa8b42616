import PowerSyncServiceCore

extension PostgresCheck {
    /// One row about the server and the role.
    ///
    /// Its parameter `$1` is the prefix of the service's slots.
    package static let serverQuery = """
        SELECT pg_catalog.current_setting('server_version_num'), pg_catalog.current_setting('wal_level'),
          pg_catalog.pg_is_in_recovery(), pg_catalog.current_setting('max_replication_slots'),
          (SELECT count(*) FROM pg_catalog.pg_replication_slots),
          (SELECT count(*) FROM pg_catalog.pg_replication_slots s WHERE starts_with(s.slot_name::text, $1)
            AND s.database = pg_catalog.current_database()),
          (SELECT pg_catalog.string_agg(s.slot_name::text, ' ' ORDER BY s.slot_name)
            FROM pg_catalog.pg_replication_slots s WHERE starts_with(s.slot_name::text, $1)
            AND s.database = pg_catalog.current_database() AND pg_catalog.to_jsonb(s) ->> 'wal_status' = 'lost'),
          pg_catalog.current_setting('max_wal_senders'),
          (SELECT count(*) FROM pg_catalog.pg_stat_replication),
          (SELECT setting FROM pg_catalog.pg_settings WHERE name = 'max_slot_wal_keep_size'),
          r.rolname,
          r.rolsuper OR r.rolreplication OR EXISTS (
            SELECT FROM pg_catalog.pg_roles m
            WHERE m.rolname = 'rds_replication' AND pg_catalog.pg_has_role(r.oid, m.oid, 'MEMBER')),
          r.rolsuper OR r.rolbypassrls, r.rolsuper, pg_catalog.current_database(),
          pg_catalog.current_setting('rds.logical_replication', true) IS NOT NULL,
          pg_catalog.current_setting('cloudsql.logical_decoding', true) IS NOT NULL,
          extract(epoch FROM pg_catalog.current_setting('idle_replication_slot_timeout', true)::interval)::int8
        FROM pg_catalog.pg_roles r WHERE r.rolname = current_user
        """

    func serverFindings(_ state: PostgresServerState) -> [Finding] {
        settingFindings(state) + slotFindings(state)
    }

    /// What keeps everything from being replicated.
    func settingFindings(_ state: PostgresServerState) -> [Finding] {
        var findings: [Finding] = []
        if state.version < Self.minimumVersion {
            findings.append(
                .error(
                    .serverSettings,
                    "PostgreSQL \(state.versionText) is too old: version \(Self.minimumVersion / 10_000) is needed.",
                    "Upgrade the server with pg_upgrade, or replicate one that is newer."
                )
            )
        }
        if state.isInRecovery {
            findings.append(
                .error(
                    .serverSettings,
                    "The server is a standby, which can neither have a publication nor confirm uploads.",
                    "Connect to the primary."
                )
            )
        }
        if state.walLevel != "logical" {
            findings.append(
                .error(
                    .serverSettings,
                    "wal_level is \(state.walLevel): changes of rows are not in the log.",
                    walLevelRemedy(state)
                )
            )
        }
        if !state.mayReplicate {
            let role = PostgresIdentifier.quoted(state.role)
            findings.append(
                .error(
                    .privilegeMissing,
                    "Role \(state.role) may not replicate.",
                    state.isRDS ? "GRANT rds_replication TO \(role);" : "ALTER ROLE \(role) REPLICATION;"
                )
            )
        }
        return findings
    }

    private func walLevelRemedy(_ state: PostgresServerState) -> String {
        if state.isRDS { return "Set rds.logical_replication = 1 in the parameter group, and restart the server." }
        if state.isCloudSQL { return "Set the flag cloudsql.logical_decoding = on, and restart the server." }
        return "ALTER SYSTEM SET wal_level = logical; then restart the server."
    }

    private func slotFindings(_ state: PostgresServerState) -> [Finding] {
        var findings: [Finding] = []
        func check(_ setting: String, _ what: String, maximum: Int, used: Int, own: Int) {
            let free = maximum - used
            let remedy = "ALTER SYSTEM SET \(setting) = \(maximum + 10); then restart the server."
            if free < 1, own == 0 {
                findings.append(
                    .error(
                        .serverSettings,
                        "All \(maximum) \(what) (\(setting)) are in use, and one is needed.",
                        remedy
                    )
                )
            } else if free + own < 2 {
                findings.append(
                    .warning(
                        .serverSettings,
                        """
                        Only \(free) of \(maximum) \(what) (\(setting)) are free: while a changed sync config is deployed, \
                        one more is needed.
                        """,
                        remedy
                    )
                )
            }
        }
        check(
            "max_replication_slots",
            "replication slots",
            maximum: state.maximumSlots,
            used: state.usedSlots,
            own: state.ownSlots
        )
        check(
            "max_wal_senders",
            "senders",
            maximum: state.maximumSenders,
            used: state.usedSenders,
            own: min(state.ownSlots, state.usedSenders)
        )
        for slot in state.lostSlots {
            findings.append(
                .warning(
                    .slotLost,
                    "The server has thrown away what replication slot \(slot) needs: all tables are copied again.",
                    "ALTER SYSTEM SET max_slot_wal_keep_size = '10GB'; SELECT pg_reload_conf();"
                )
            )
        }
        if let size = state.walKeepSize, size >= 0, size < Self.enoughWAL {
            findings.append(
                .warning(
                    .slotLost,
                    """
                    max_slot_wal_keep_size is \(size) MB: when more is written while the service is away or copies tables, \
                    its slot is lost and everything is copied again.
                    """,
                    "ALTER SYSTEM SET max_slot_wal_keep_size = '10GB'; SELECT pg_reload_conf();"
                )
            )
        }
        if let limit = state.idleSlotTimeout, limit > 0, limit < Self.enoughIdleTime {
            findings.append(
                .warning(
                    .slotLost,
                    """
                    idle_replication_slot_timeout is \(limit) s: when the service is away for longer, its slot is lost and everything \
                    is copied again.
                    """,
                    "ALTER SYSTEM SET idle_replication_slot_timeout = '3d'; SELECT pg_reload_conf();"
                )
            )
        }
        return findings
    }
}
