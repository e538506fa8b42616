import Foundation
import PowerSyncService
import PowerSyncServiceCore
import PowerSyncServiceMySQL
import PowerSyncServicePostgres
import PowerSyncServiceSQLite
import ServiceTestSupport
import TestSupport
import Testing

@testable import PowerSyncCLI

/// `--source` of commands: a file, or an address whose password nobody is shown.
@Suite struct SourceArgumentTests {
    @Test func aFileIsAFileWhateverItsName() throws {
        let folder = try TemporaryFolder()
        for name in ["app.db", "a=b.db", "me@home.db"] {
            try Data().write(to: folder.url.appending(path: name))
            let source = try #require(try SourceArgument.read(folder.path(name)) as? EmbeddedSourceModule)
            #expect(source.path == folder.path(name))
            #expect(!source.hasPassword)
        }
    }

    @Test(arguments: ["postgresql://me:hunter2@127.0.0.1:1/app", "host=h dbname=d user=u password=hunter2"])
    func anAddressIsAServer(_ address: String) throws {
        let source = try SourceArgument.read(address)
        #expect(source is PostgresSourceModule)
        #expect(source.hasPassword)
        #expect(!"\(source)".contains("hunter2"))
    }

    @Test(arguments: ["mysql://me:hunter2@127.0.0.1:1/app", "mariadb://me:hunter2@127.0.0.1:1/app"])
    func theSchemeOfAnAddressSaysOfWhichKindItIs(_ address: String) throws {
        let source = try SourceArgument.read(address)
        #expect(source is MySQLSourceModule)
        #expect(source.hasPassword)
        #expect("\(source)" == "MySQL app at 127.0.0.1:1 as me")
    }

    @Test func anAddressIsReadLikeTheConfiguredSource() throws {
        var settings = PostgresSettings(uri: "postgresql://me@elsewhere/app")
        settings.publication = "mine"
        let source = try SourceArgument.read("postgresql://me@h/app", like: PostgresSourceModule(settings))
        let read = try #require(source as? PostgresSourceModule)
        #expect(read.settings.publication == "mine")
        #expect("\(read)" == "PostgreSQL app at h:5432 as me")
    }

    @Test(arguments: [
        "postgresql://me:hun@ter2@h/app", "postgres:/me:hunter2@h/app", "mysql://me:hun@ter2@h/app",
        "mysql://me:hunter2@h", "mysql:/me:hunter2@h/app", "mssql://me:hunter2@h/app",
        "postgresql//me:hunter2@h/app", "postgresql://me:hunter2%@h/app", "password=hunter2 host",
        "me:hunter2@h/app",
        "postgresql://me:hunter2@h/app?what=1", "postgresql://me:12/hunter2@h/app",
        "jdbc:postgresql://h/app?password=hunter2",
    ])
    func whatCannotBeUsedIsNotShown(_ address: String) {
        let error = #expect(throws: ServiceError.self) { try SourceArgument.read(address) }
        #expect(error.map { !"\($0)".contains("ter2") && "\($0)".hasPrefix("--source") } == true, "\(error as Any)")
    }

    @Test func aMissingFileIsNamed() {
        #expect {
            try SourceArgument.read("missing.db")
        } throws: { error in
            "\(error)" == "cannot read the source missing.db: there is no such file"
        }
    }

    // MARK: Other databases

    private static let model = Modules(sources: [ModelSourceModule.self], storages: [ModelStorageModule.self])

    @Test func itsFormIsThatOfItsModule() throws {
        try CommandModules.$current.withValue(Self.model) {
            let source = try SourceArgument.read("model:lists,todos")
            #expect(source.description == "model of lists, todos")
            #expect(SourceArgument.forms == "model:table,table")
            #expect(SourceArgument.passwordPlaces.isEmpty)
            #expect(
                SourceArgument.examples((before: "validate sync.yaml", after: " --as u1"))
                    == "  powersync validate sync.yaml --source model:lists --as u1"
            )
            // What is an address for others is not shown.
            #expect {
                try SourceArgument.read("postgresql://me:hunter2@h/app")
            } throws: { error in
                "\(error)" == "--source names no database that this command can read; it takes model:table,table"
            }
        }
    }

    @Test func theFormsOfAllModulesAreInTheHelp() {
        #expect(
            SourceArgument.forms == """
                a SQLite file, or postgresql://user@host:5432/database (encrypted unless it ends with ?sslmode=disable), \
                or mysql://user@host:3306/database (encrypted unless it ends with ?sslmode=disable)
                """
        )
        #expect(SourceArgument.passwordPlaces == " A password is taken from PGPASSWORD or ~/.pgpass, or MYSQL_PWD.")
    }
}
