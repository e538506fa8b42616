import PowerSyncMySQLConnection
import PowerSyncProtocol
import PowerSyncServiceCore
import PowerSyncSyncConfig
import Testing

@testable import PowerSyncServiceMySQL

/// What is said about a server's settings (docs/mysql.md "Checking a server").
@Suite struct MySQLCheckTests {
    private static func mysql(_ changes: (inout MySQLServerState) -> Void = { _ in }) -> MySQLServerState {
        var state = MySQLServerState(
            version: "9.7.4",
            comment: "MySQL Community Server - GPL",
            variables: [
                "log_bin": "ON", "binlog_format": "ROW", "binlog_row_image": "FULL", "gtid_mode": "ON",
                "enforce_gtid_consistency": "ON", "server_id": "1", "binlog_expire_logs_seconds": "2592000",
                "binlog_row_value_options": "", "read_only": "OFF", "super_read_only": "OFF", "sync_binlog": "1",
                "innodb_flush_log_at_trx_commit": "1", "innodb_native_foreign_keys": "OFF",
            ],
            log: .written(only: [], without: []),
            replication: .none,
            mayProcess: true,
            grants: ["GRANT PROCESS, REPLICATION SLAVE, REPLICATION CLIENT ON *.* TO `me`@`%`"],
            account: MySQLAccount("me@%")
        )
        changes(&state)
        return state
    }

    private static func mariaDB(_ changes: (inout MySQLServerState) -> Void = { _ in }) -> MySQLServerState {
        mysql { state in
            state.version = "10.11.19-MariaDB-0+deb12u1"
            for name in ["gtid_mode", "enforce_gtid_consistency", "super_read_only", "innodb_native_foreign_keys"] {
                state.variables[name] = nil
            }
            state.variables["binlog_expire_logs_seconds"] = "0"
            changes(&state)
        }
    }

    @Test func aServerThatIsSetUpHasNoFindings() {
        #expect(MySQLCheck.serverFindings(Self.mysql()).isEmpty)
        #expect(MySQLCheck.serverFindings(Self.mariaDB()).isEmpty)
        #expect(Self.mysql().kindFinding == nil && Self.mariaDB().kindFinding == nil)
    }

    /// A setting that is wrong, what is said, and what mends it.
    private static let settings:
        [(name: String, value: String, code: String, severity: Finding.Severity, remedy: String)] = [
            ("log_bin", "OFF", "PSYNC_S1201", .error, "log_bin = binlog below [mysqld]"),
            ("binlog_format", "MIXED", "PSYNC_S1202", .error, "SET PERSIST binlog_format = 'ROW';"),
            ("binlog_format", "STATEMENT", "PSYNC_S1202", .error, "connect again"),
            ("binlog_row_image", "MINIMAL", "PSYNC_S1203", .warning, "SET PERSIST binlog_row_image = 'FULL';"),
            ("binlog_row_image", "noblob", "PSYNC_S1203", .warning, "SET PERSIST binlog_row_image = 'FULL';"),
            ("binlog_row_value_options", "PARTIAL_JSON", "PSYNC_S1203", .warning, "binlog_row_value_options = ''"),
            ("gtid_mode", "ON_PERMISSIVE", "PSYNC_S1204", .error, "Ongoing_anonymous_transaction_count"),
            ("enforce_gtid_consistency", "WARN", "PSYNC_S1204", .error, "SET PERSIST enforce_gtid_consistency = ON;"),
            ("server_id", "0", "PSYNC_S1211", .error, "SET PERSIST server_id = 1;"),
            ("read_only", "ON", "PSYNC_S1206", .error, "Connect to the primary"),
            ("super_read_only", "ON", "PSYNC_S1206", .error, "SET GLOBAL super_read_only = OFF;"),
            ("binlog_expire_logs_seconds", "3600", "PSYNC_S1208", .warning, "binlog_expire_logs_seconds = 604800"),
            ("sync_binlog", "0", "PSYNC_S1209", .warning, "SET PERSIST sync_binlog = 1;"),
            ("innodb_flush_log_at_trx_commit", "2", "PSYNC_S1209", .warning, "innodb_flush_log_at_trx_commit = 1;"),
            ("binlog_storage_engine", "innodb", "PSYNC_S1211", .error, "binlog_storage_engine"),
        ]

    @Test(arguments: settings.indices)
    func eachSettingHasItsRemedy(_ index: Int) throws {
        let (name, value, code, severity, remedy) = Self.settings[index]
        let findings = MySQLCheck.serverFindings(Self.mysql { $0.variables[name] = value })
        let finding = try #require(findings.first)
        #expect(findings.count == 1)
        #expect(finding.code?.rawValue == code)
        #expect(finding.severity == severity)
        #expect(finding.message.contains(name))
        #expect(finding.remedy?.contains(remedy) == true, "\(finding.remedy ?? "")")
    }

    @Test func GTIDsAreSwitchedOnInSteps() {
        let findings = MySQLCheck.serverFindings(
            Self.mysql {
                $0.variables["gtid_mode"] = "OFF"
                $0.variables["enforce_gtid_consistency"] = "OFF"
            }
        )
        #expect(
            findings.first?.remedy
                == """
                SET PERSIST enforce_gtid_consistency = WARN; and look at the server's log for a while; \
                SET PERSIST enforce_gtid_consistency = ON; SET PERSIST gtid_mode = OFF_PERMISSIVE; SET PERSIST gtid_mode = ON_PERMISSIVE; \
                wait until SHOW STATUS LIKE 'Ongoing_anonymous_transaction_count' is 0; SET PERSIST gtid_mode = ON;
                """
        )
    }

    @Test func settingsOfMariaDBAndOfHostsAreSetInTheirWay() {
        func remedy(_ state: MySQLServerState) -> String? { MySQLCheck.serverFindings(state).first?.remedy }
        #expect(
            remedy(Self.mariaDB { $0.variables["binlog_format"] = "MIXED" })?.hasPrefix(
                "SET GLOBAL binlog_format = 'ROW'; and binlog_format = ROW below [mariadb] in the server's configuration."
            ) == true
        )
        func rds(_ state: inout MySQLServerState) { state.variables["basedir"] = "/rdsdbbin/mysql" }
        #expect(
            remedy(
                Self.mysql {
                    rds(&$0); $0.variables["binlog_format"] = "MIXED"
                }
            )?.hasPrefix(
                "Set binlog_format = ROW in the parameter group."
            ) == true
        )
        #expect(
            remedy(
                Self.mysql {
                    rds(&$0); $0.variables["log_bin"] = "OFF"
                }
            )?.contains("automated backups") == true
        )
        #expect(
            remedy(
                Self.mysql {
                    $0.version = "8.0.40-google"; $0.variables["binlog_row_image"] = "MINIMAL"
                }
            )
                == "Set the flag binlog_row_image = FULL."
        )
    }

    @Test func privilegesThatAreMissingAreGranted() {
        func findings(_ state: MySQLServerState) -> [String] {
            MySQLCheck.serverFindings(state).map { "\($0.severity) \($0.code?.rawValue ?? "") \($0.remedy ?? "")" }
        }
        #expect(
            findings(
                Self.mysql {
                    $0.log = .denied; $0.replication = .denied
                }
            ) == [
                "error PSYNC_S1207 GRANT REPLICATION CLIENT ON *.* TO 'me'@'%';"
            ]
        )
        #expect(
            findings(
                Self.mariaDB {
                    $0.log = .denied; $0.replication = .denied
                }
            ) == [
                "error PSYNC_S1207 GRANT BINLOG MONITOR ON *.* TO 'me'@'%';"
            ]
        )
        #expect(
            findings(Self.mariaDB { $0.replication = .denied }) == [
                "warning PSYNC_S1207 GRANT SLAVE MONITOR ON *.* TO 'me'@'%';"
            ]
        )
        #expect(
            findings(
                Self.mysql { $0.grants = ["GRANT PROCESS ON *.* TO `me`@`%`", "GRANT SELECT ON `app`.* TO `me`@`%`"] }
            )
                == ["error PSYNC_S1207 GRANT REPLICATION SLAVE ON *.* TO 'me'@'%';"]
        )
        #expect(
            findings(Self.mysql { $0.grants = ["GRANT ALL PRIVILEGES ON *.* TO `root`@`%` WITH GRANT OPTION"] }) == []
        )
        // What a role has is not shown.
        #expect(
            findings(Self.mysql { $0.grants = ["GRANT USAGE ON *.* TO `me`@`%`", "GRANT `r`@`%` TO `me`@`%`"] }) == []
        )
        #expect(
            findings(Self.mysql { $0.mayProcess = false }) == ["warning PSYNC_S1207 GRANT PROCESS ON *.* TO 'me'@'%';"]
        )
    }

    @Test func aReplicaIsNotRead() {
        #expect(MySQLCheck.serverFindings(Self.mysql { $0.replication = .running }).first?.severity == .error)
        let stopped = MySQLCheck.serverFindings(Self.mariaDB { $0.replication = .stopped })
        #expect(stopped.map(\.severity) == [.warning])
        #expect(stopped.first?.remedy?.contains("RESET SLAVE ALL;") == true)
    }

    @Test(arguments: [
        ("8.0.12", "", "too old: 8.0.13"), ("5.7.44-log", "", "too old"), ("10.5.29-MariaDB", "", "too old: 10.6"),
        ("8.0.11-TiDB-v8.5.0", "TiDB Server", "TiDB speaks"), ("8.0.30-Vitess", "", "Vitess speaks"),
        ("8.0.23-PlanetScale", "", "PlanetScale speaks"), ("5.7.25-OceanBase-v4.3", "", "OceanBase speaks"),
    ])
    func otherServersAreRefused(_ version: String, _ comment: String, _ message: String) {
        let finding = Self.mysql { ($0.version, $0.comment) = (version, comment) }.kindFinding
        #expect(finding?.severity == .error)
        #expect(finding?.message.contains(message) == true)
    }

    @Test(arguments: ["8.0.13", "8.4.0", "9.0.1-percona", "10.6.0-MariaDB", "11.8.9-MariaDB-log", "12.0.2-MariaDB"])
    func newerVersionsAreRead(_ version: String) {
        #expect(Self.mysql { $0.version = version }.kindFinding == nil)
    }

    // MARK: Filters

    private func filterFindings(
        only: [String] = [],
        without: [String] = [],
        mayProcess: Bool = true,
        reading tables: [String] = ["lists", "other.todos"]
    ) throws -> [Finding] {
        var plan = try plan(reading: tables)
        plan.defaultSchema = "app"
        let state = Self.mysql { state in
            state.log = .written(only: only, without: without)
            state.mayProcess = mayProcess
        }
        return MySQLCheck.filterFindings(state, plan, [])
    }

    @Test func aFilterThatHidesASchemaIsAnError() throws {
        for findings in [try filterFindings(only: ["app"]), try filterFindings(without: ["other", "x"])] {
            #expect(findings.map(\.severity) == [.error])
            #expect(findings.first?.code?.rawValue == "PSYNC_S1205")
            #expect(findings.first?.message == "The log leaves out the changes of other.")
        }
        #expect(try filterFindings().isEmpty)
    }

    @Test func aFilterThatHidesStatementsIsAWarningWhenTablesTellOfThem() throws {
        #expect(try filterFindings(only: ["app", "other"]).map(\.severity) == [.warning])
        let findings = try filterFindings(without: ["x"], mayProcess: false)
        #expect(findings.map(\.severity) == [.error])
        #expect(findings.first?.remedy?.contains("GRANT PROCESS") == true)
    }
}
