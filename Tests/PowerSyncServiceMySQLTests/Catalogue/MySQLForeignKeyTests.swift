import MySQLTestSupport
import PowerSyncServiceCore
import PowerSyncSyncConfig
import Testing

@testable import PowerSyncServiceMySQL

/// Foreign keys whose rules change rows that the log does not tell of (docs/mysql.md "Foreign keys").
@Suite struct MySQLForeignKeyTests {
    @Test func rulesAreReadOfTheStatementThatMakesTheTable() throws {
        let statement = """
            CREATE TABLE `c` (
              `id` int(11) NOT NULL COMMENT 'ON DELETE CASCADE',
              CONSTRAINT `a``b` FOREIGN KEY (`ON DELETE CASCADE`) REFERENCES `o`.`p` (`id`),
              CONSTRAINT `d` FOREIGN KEY (`x`) REFERENCES `p` (`id`) ON DELETE CASCADE,
              CONSTRAINT `u` FOREIGN KEY (`x`, `y`) REFERENCES `p` (`id`, `k`) ON DELETE NO ACTION ON UPDATE SET NULL
            ) ENGINE=InnoDB
            """
        typealias Rules = MySQLForeignKey.Rules
        #expect(Rules(of: "a`b", in: statement) == Rules(followsDeletes: false, followsUpdates: false))
        #expect(Rules(of: "d", in: statement) == Rules(followsDeletes: true, followsUpdates: false))
        #expect(Rules(of: "u", in: statement) == Rules(followsDeletes: false, followsUpdates: true))
        #expect(Rules(of: "none", in: statement) == nil)
    }

    private static func key(_ child: String, _ parent: String) -> MySQLForeignKey {
        MySQLForeignKey(
            name: "\(child)_\(parent)",
            child: .init(schema: "app", name: child),
            columns: ["x"],
            parent: .init(schema: "app", name: parent),
            parentColumns: ["id"],
            followsDeletes: true,
            followsUpdates: false
        )
    }

    @Test func keysAreFollowedToAllAncestors() {
        let keys = [
            Self.key("items", "todos"), Self.key("todos", "lists"), Self.key("lists", "lists"),
            Self.key("tags", "lists"),
            Self.key("todos", "users"), Self.key("users", "todos"),
        ]
        let items = SourceTableName(schema: "app", name: "items")
        #expect(
            keys.reached(from: [items]).map(\.name) == [
                "items_todos", "todos_lists", "lists_lists", "todos_users", "users_todos",
            ]
        )
        #expect(keys.reached(from: []).isEmpty)
    }
}
