import Foundation
import Testing

/// Every piece of Swift on a page is compiled: it is a part of a test or of an example.
///
/// What is `import`ed at the head of a block may stand anywhere in the file, and indentation does not count. Code for frameworks
/// that are not there, such as SwiftUI on Linux, is only parsed.
@Suite struct PageSnippetTests {
    @Test(arguments: try Page.all())
    func whatThePageShowsIsCompiled(_ page: Page) throws {
        let code = try Self.code.get()
        for block in page.blocks where block.language == "swift" && !block.isOfManifest {
            #expect(
                code.contains(block),
                "\(page.path):\(block.line): no Swift file of Tests or Examples has this block"
            )
        }
    }

    @Test
    func whatCommentsOfTheUploadsApplierShowIsCompiledTooPeopleBeginWithIt() throws {
        let code = try Self.code.get()
        let folders = [
            "PowerSyncBackend/Applying", "PowerSyncBackend/SQLite", "PowerSyncBackend/Servers",
            "PowerSyncBackendPostgres", "PowerSyncBackendMySQL",
        ]
        let files = try folders.flatMap { try Page.files(in: "Sources/\($0)", withExtension: "swift") }
        let blocks = try files.flatMap { file in
            try Page.blocks(ofCommentsIn: file).map { (file: file.lastPathComponent, block: $0) }
        }
        #expect(blocks.count > 15)
        for (file, block) in blocks where block.language == "swift" {
            #expect(code.contains(block), "\(file):\(block.line): no Swift file of Tests or Examples has this block")
        }
    }

    @Test(arguments: try Page.all())
    func whatThePageSaysOfManifestsIsSo(_ page: Page) throws {
        let manifest = try String(contentsOf: Page.root.appending(path: "Package.swift"), encoding: .utf8)
        // A product with a condition has several lines there.
        let lines = manifest.split(whereSeparator: \.isWhitespace).joined(separator: " ")
            .replacing("product( ", with: "product(")
        for block in page.blocks where block.language == "swift" && block.isOfManifest {
            for match in block.text.matches(of: /\.product\(name: "(\w+)", package: "([\w.-]+)"\)/) {
                let isThere =
                    match.2 == "powersync-swift"
                    ? manifest.contains(".library(name: \"\(match.1)\"")
                    : lines.contains("product(name: \"\(match.1)\", package: \"\(match.2)\"")
                #expect(isThere, "\(page.path):\(block.line): there is no product \(match.1) in \(match.2)")
            }
        }
    }

    @Test func pagesHaveBlocks() throws {
        let pages = try Page.all()
        #expect(pages.contains { $0.path == "README.md" && !$0.blocks.isEmpty })
        #expect(pages.flatMap(\.blocks).count { $0.language == "swift" } > 50)
    }

    private static let code = Result { try CompiledCode() }
}

/// The Swift files of tests and examples, without indentation.
private struct CompiledCode {
    private var files: [String] = []

    init() throws {
        for folder in ["Tests", "Examples"] {
            for file in try Page.files(in: folder, withExtension: "swift") {
                files.append(
                    "\n" + Page.lines(try String(contentsOf: file, encoding: .utf8)).joined(separator: "\n") + "\n"
                )
            }
        }
    }

    func contains(_ block: Page.Block) -> Bool {
        let lines = block.text.split(separator: "\n", omittingEmptySubsequences: false)
        let head = lines.prefix { $0.isEmpty || $0.hasPrefix("import ") }
        let rest = "\n" + lines[head.endIndex...].joined(separator: "\n") + "\n"
        return files.contains { file in
            file.contains(rest) && head.allSatisfy { $0.isEmpty || file.contains("\n\($0)\n") }
        }
    }
}
