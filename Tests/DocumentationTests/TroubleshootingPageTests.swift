import Foundation
import Testing

/// The page "Troubleshooting by symptom" has every error of the client and every code of the service.
///
/// What there is comes from the sources, so that an error that is new cannot be forgotten.
@Suite struct TroubleshootingPageTests {
    private let page: String

    init() throws {
        page = try Page(path: "Sources/PowerSync/Documentation.docc/Troubleshooting.md").text
    }

    private func source(_ path: String) throws -> String {
        try String(contentsOf: Page.root.appending(path: path), encoding: .utf8)
    }

    /// The codes in a text, wherever they stand: in declarations, in messages of the command, in comments.
    private static func codes(in text: String) -> Set<String> {
        Set(text.matches(of: /\bPSYNC_[A-Z]\d{4}\b/).map { String($0.0) })
    }

    /// The codes of all targets, since some are declared where they are used.
    private func codesOfTheSources() throws -> Set<String> {
        var codes: Set<String> = []
        for file in try Page.files(in: "Sources", withExtension: "swift") {
            codes.formUnion(Self.codes(in: try String(contentsOf: file, encoding: .utf8)))
        }
        return codes
    }

    @Test func everyCodeOfTheServiceIsOnThePage() throws {
        let codes = try codesOfTheSources()
        #expect(codes.isSuperset(of: ["PSYNC_S2101", "PSYNC_S1141", "PSYNC_S0102"]))
        #expect(codes.filter { !page.contains("`\($0)`") }.sorted() == [])
    }

    @Test func thePageHasNoOtherCodes() throws {
        #expect(Self.codes(in: page).subtracting(try codesOfTheSources()).sorted() == [])
    }

    @Test func everyErrorOfTheClientIsOnThePage() throws {
        var names: [String] = []
        let client = try ["Sources/PowerSyncClient", "Sources/PowerSyncAttachments"].flatMap {
            try Page.files(in: $0, withExtension: "swift")
        }
        for file in client {
            let text = try String(contentsOf: file, encoding: .utf8)
            names += text.matches(of: /(?m)^public (?:struct|enum) (\w+Error)\b/).map { String($0.1) }
        }
        #expect(names.count > 10)
        #expect(names.filter { !page.contains("``\($0)``") } == [])
    }

    @Test(arguments: [
        "Attachments/PowerSyncAttachmentError", "Attachments/Remote/AttachmentTransferError",
        "Client/Syncing/CheckpointRequests/CheckpointErrors", "Client/Syncing/Connector/HTTPBackend/HTTPBackendError",
        "Client/Errors/PowerSyncError", "Client/Rows/SqlCursor", "Client/Rows/TypedRowError",
        "Client/Schema/TableError",
    ])
    func everyCaseAndCodeIsOnThePage(_ file: String) throws {
        let source = try source("Sources/PowerSync\(file).swift")
        let cases = source.matches(of: /(?m)^    case (\w+)/).map { String($0.1) }
        let codes = source.matches(of: /public static let (\w+) = Code\(/).map { String($0.1) }
        #expect(!(cases + codes).isEmpty)
        #expect((cases + codes).filter { !page.contains("`\($0)`") } == [])
    }
}
