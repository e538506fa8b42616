import Foundation
import PowerSync
import PowerSyncTesting
import Testing

/// Types of rows are checked against the schema, without a row.
@Suite(.timeLimit(.minutes(1))) struct RowTypeCheckTests {
    private static let table = Table(
        name: "todos",
        columns: [
            .text("title"), .text("notes"), .integer("position"), .real("estimate"), .boolean("done"), .json("tags"),
            .date("due"), .decimal("price"), .uuid("owner_id"),
        ],
        viewNameOverride: "tasks"
    )

    private static func problem<Row: Decodable & SendableMetatype>(
        _ type: Row.Type,
        format: RowFormat = RowFormat(),
        samples: [String: String] = [:]
    ) -> TypedRowError? {
        let schema = Schema(table).checkingRows(of: "tasks", as: type, format: format, samples: samples)
        do {
            try schema.validate()
            return nil
        } catch {
            let problem = error as? TypedRowError
            #expect(problem != nil, "\(error)")
            return problem
        }
    }

    enum State: String, Codable { case open, done }
    enum Known: String, Codable, CaseIterable { case open, done }
    enum Size: Int, Codable { case small = 1 }

    struct Tag: Codable {
        var name: String
        var weight: Double?
        var parents: [Tag]
        var known: Known
    }

    struct Todo: Codable {
        var id: UUID
        var title: Known
        var notes: State?
        var position: Int
        var estimate: Double?
        var done: Bool
        var tags: [Tag]
        var due: Date?
        var price: Decimal
        var owner_id: UUID?
    }

    @Test func typesThatFitPass() {
        struct Texts: Codable { var id, title, tags, due, price, owner_id: String }
        struct FreeText: Codable {
            var title: URL
            var notes: Tag
            var position: Size?
        }
        struct Numbers: Codable {
            var position: Date
            var estimate: Decimal
            var done: Int
            var tags: JsonValue
        }
        class Base: Codable { var title = "" }
        final class Derived: Base {
            let done: Bool

            required init(from decoder: any Decoder) throws {
                enum Key: CodingKey { case done }
                done = try decoder.container(keyedBy: Key.self).decode(Bool.self, forKey: .done)
                try super.init(from: decoder)
            }
        }
        #expect(Self.problem(Todo.self) == nil)
        #expect(Self.problem(Texts.self) == nil)
        #expect(Self.problem(FreeText.self) == nil)
        #expect(Self.problem(Numbers.self) == nil)
        #expect(Self.problem(Derived.self) == nil)
        #expect(Self.problem([String: Known?].self)?.message.contains("'position'") == true)
    }

    @Test func namesFollowTheFormat() {
        struct Owner: Codable { var ownerID: UUID }
        #expect(Self.problem(Owner.self)?.column == "ownerID")
        #expect(Self.problem(Owner.self, format: RowFormat(keys: .snakeCase)) == nil)
    }

    /// What a row with one property is told.
    private static func problem<Value: Decodable & SendableMetatype>(
        of column: String,
        _ type: Value.Type
    ) -> TypedRowError? {
        $column.withValue(column) { problem(OneProperty<Value>.self) }
    }

    @TaskLocal fileprivate static var column = ""

    private struct OneProperty<Value: Decodable>: Decodable {
        init(from decoder: any Decoder) throws {
            let container = try decoder.container(keyedBy: Name.self)
            _ = try container.decode(Value.self, forKey: Name(stringValue: column))
        }
    }

    private struct Name: CodingKey {
        let stringValue: String
        var intValue: Int? { nil }

        init(stringValue: String) {
            self.stringValue = stringValue
        }

        init?(intValue: Int) { nil }
    }

    @Test func typesThatAColumnDoesNotHoldAreTold() {
        let problems = [
            Self.problem(of: "title", Bool.self), Self.problem(of: "title", Int?.self),
            Self.problem(of: "title", Double.self), Self.problem(of: "position", String.self),
            Self.problem(of: "position", UUID.self), Self.problem(of: "position", Tag.self),
            Self.problem(of: "position", [Int].self), Self.problem(of: "estimate", Int.self),
            Self.problem(of: "estimate", Bool.self), Self.problem(of: "done", Date.self),
            Self.problem(of: "done", String.self), Self.problem(of: "tags", Int.self),
            Self.problem(of: "tags", Date.self), Self.problem(of: "due", UUID.self), Self.problem(of: "due", Tag.self),
            Self.problem(of: "price", Double.self), Self.problem(of: "price", Date.self),
            Self.problem(of: "owner_id", Decimal.self), Self.problem(of: "owner_id", [Tag].self),
            Self.problem(of: "position", Known.self),
        ]
        for problem in problems {
            #expect(problem?.code == .typeMismatch)
            #expect(problem?.table == "tasks")
            #expect(problem?.column != nil)
        }
        #expect(
            Self.problem(of: "price", Double.self)?.description
                == "Column 'price': a decimal number as text is no Double (table 'tasks')"
        )
    }

    @Test func propertiesWithoutAColumnAreToldAlsoOptionalOnes() {
        struct Wrong: Codable {
            var id: String
            var dueDate: Date?
            var count: Int?
            var done: String
        }
        let problem = Self.problem(Wrong.self)
        #expect(problem?.code == .missingColumn)
        #expect(
            problem?.message
                == "column 'dueDate': the table has no such column; column 'count': the table has no such column; "
                + "column 'done': a boolean is no String"
        )
    }

    struct Email: Decodable {
        init(from decoder: any Decoder) throws {
            let text = try decoder.singleValueContainer().decode(String.self)
            guard text.contains("@") else {
                throw DecodingError.dataCorrupted(.init(codingPath: [], debugDescription: "no e-mail address"))
            }
        }
    }

    @Test func typesThatAcceptSomeValuesOnlyNeedASample() {
        struct Row: Decodable {
            var title: Email
            var notes: State
            var position: Size
            var tags: [Tag]
        }
        let samples = ["title": "a@b", "notes": "open", "position": "1"]
        #expect(Self.problem(Row.self, samples: samples) == nil)
        let problem = Self.problem(Row.self)
        #expect(problem?.code == .unsupported)
        #expect(problem?.column == "title")
        #expect(problem?.message.contains("Email accepts none") == true)
        #expect(Self.problem(Row.self, samples: samples.merging(["position": "2"]) { $1 })?.column == "position")
        #expect(Self.problem(Row.self, samples: samples.merging(["tags": "[1]"]) { $1 })?.column == "tags")
        #expect(
            Self.problem(
                Row.self,
                samples: samples.merging(["tags": #"[{"name":"a","parents":[],"known":"open"}]"#]) { $1 }
            )
                == nil
        )
    }

    @Test func whatIsNoRowIsTold() {
        #expect(Self.problem(Int.self)?.code == .unsupported)
        #expect(Self.problem([Int].self)?.code == .unsupported)
        #expect(Self.problem(Known.self)?.code == .unsupported)
        let schema = Schema(Self.table).checkingRows(of: "others", as: Todo.self)
        #expect(throws: PowerSyncError.self) { try schema.validate() }
    }

    @Test func aDatabaseWithATypeThatDoesNotFitIsNotOpenedInADebugBuild() async throws {
        struct Wrong: Codable { var done: String }
        let logger = RecordingLogger()
        let fitting = PowerSyncDatabase(
            inMemory: Schema(Self.table).checkingRows(of: "todos", as: Todo.self),
            logger: logger
        )
        #expect(try await fitting.get("SELECT count(*) FROM tasks", as: Int.self) == 0)
        #expect(logger.messages(.warning).isEmpty)
        try await fitting.close()
        let wrong = PowerSyncDatabase(
            inMemory: Schema(Self.table).checkingRows(of: "todos", as: Wrong.self),
            logger: logger
        )
        await #expect(throws: TypedRowError.self) { try await wrong.get("SELECT count(*) FROM tasks", as: Int.self) }
        #expect(logger.messages(.warning).contains { $0.contains("Column 'done'") })
        try await wrong.close()
    }
}
