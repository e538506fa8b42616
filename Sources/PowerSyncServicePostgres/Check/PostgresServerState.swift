/// What a server says about itself and the role.
struct PostgresServerState {
    var version: Int
    var walLevel: String
    var isInRecovery: Bool
    var maximumSlots: Int
    var usedSlots: Int
    /// Those of the service.
    var ownSlots: Int
    /// The ones that the server has thrown the log away for.
    var lostSlots: [String]
    var maximumSenders: Int
    var usedSenders: Int
    /// In MB; -1 for no limit, `nil` where there is none.
    var walKeepSize: Int?
    var role: String
    var mayReplicate: Bool
    var bypassesRowSecurity: Bool
    var isSuperuser: Bool
    var database: String
    /// The provider of the server, as far as settings tell.
    var isRDS: Bool
    var isCloudSQL: Bool
    /// The seconds after which an unused slot is lost; 0 for no limit, `nil` where there is none.
    var idleSlotTimeout: Int?

    init(_ rows: [[String?]]) throws(PostgresCatalogError) {
        func fail(_ column: String) -> PostgresCatalogError {
            PostgresCatalogError(query: "server", row: 0, column: column)
        }
        guard let row = rows.first, row.count == 18 else { throw fail("the number of columns") }
        func number(_ position: Int, _ name: String) throws(PostgresCatalogError) -> Int {
            guard let number = row[position].flatMap({ Int($0) }) else { throw fail(name) }
            return number
        }
        version = try number(0, "server_version_num")
        guard let walLevel = row[1], let role = row[10], let database = row[14] else { throw fail("wal_level") }
        self.walLevel = walLevel
        isInRecovery = row[2] == "t"
        maximumSlots = try number(3, "max_replication_slots")
        usedSlots = try number(4, "slots")
        ownSlots = try number(5, "own slots")
        lostSlots = row[6].map { $0.split(separator: " ").map(String.init) } ?? []
        maximumSenders = try number(7, "max_wal_senders")
        usedSenders = try number(8, "senders")
        walKeepSize = row[9].flatMap { Int($0) }
        self.role = role
        mayReplicate = row[11] == "t"
        bypassesRowSecurity = row[12] == "t"
        isSuperuser = row[13] == "t"
        self.database = database
        isRDS = row[15] == "t"
        isCloudSQL = row[16] == "t"
        idleSlotTimeout = row[17].flatMap { Int($0) }
    }

    /// The version as people say it: `15.4`, `11.2`.
    var versionText: String { "\(version / 10_000).\(version % 10_000)" }
}
