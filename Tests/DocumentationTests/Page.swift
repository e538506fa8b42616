import Foundation

/// A page of the documentation.
struct Page: CustomStringConvertible {
    /// What is between two fences.
    struct Block {
        let language: String
        let line: Int
        /// Without indentation.
        let text: String
        /// As it stands there, for what indentation is a part of.
        let source: String

        /// Whether this is of a `Package.swift`: it begins with the version of the tools, or has comments and lines with these words.
        var isOfManifest: Bool {
            if text.hasPrefix("// swift-tools-version") { return true }
            let lines = text.split(separator: "\n").filter { !$0.hasPrefix("//") }
            return !lines.isEmpty && lines.allSatisfy { $0.hasPrefix(".package(") || $0.hasPrefix(".product(") }
        }
    }

    static let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent()

    let path: String
    let text: String
    let blocks: [Block]

    var description: String { path }

    init(path: String) throws {
        self.path = path
        text = try String(contentsOf: Self.root.appending(path: path), encoding: .utf8)
        blocks = Self.blocks(of: text.split(separator: "\n", omittingEmptySubsequences: false))
    }

    /// All pages that people read who use the package or work on it.
    static func all() throws -> [Page] {
        let catalogs = try files(in: "Sources", withExtension: "md").filter { $0.path.contains("/Documentation.docc/") }
        let others = try files(in: "docs", withExtension: "md")
        let paths = (catalogs + others).map { String($0.standardized.path.dropFirst(root.standardized.path.count + 1)) }
        return try (["README.md"] + paths).map { try Page(path: $0) }
    }

    /// The files of a folder and the folders in it, in order.
    static func files(in folder: String, withExtension pathExtension: String) throws -> [URL] {
        let all = FileManager.default.enumerator(
            at: root.appending(path: folder),
            includingPropertiesForKeys: nil,
            options: .skipsHiddenFiles
        )
        let files = (all?.allObjects ?? []).compactMap { $0 as? URL }
        return files.filter { $0.pathExtension == pathExtension }.sorted { $0.path < $1.path }
    }

    /// The blocks in the documentation comments of a file.
    static func blocks(ofCommentsIn file: URL) throws -> [Block] {
        let lines = try String(contentsOf: file, encoding: .utf8).split(
            separator: "\n",
            omittingEmptySubsequences: false
        )
        // A line of code is an empty one here, so that numbers of lines stay.
        return blocks(
            of: lines.map { line in
                let comment = line.drop { $0 == " " }
                return comment.hasPrefix("///") ? comment.dropFirst(comment.hasPrefix("/// ") ? 4 : 3) : ""
            }
        )
    }

    /// The lines of a text, without indentation.
    static func lines(_ text: String) -> [String] {
        text.split(separator: "\n", omittingEmptySubsequences: false).map { $0.trimmingCharacters(in: .whitespaces) }
    }

    private static func blocks(of source: [Substring]) -> [Block] {
        let lines = source.map { $0.trimmingCharacters(in: .whitespaces) }
        var blocks: [Block] = []
        var start: Int?
        for (index, line) in lines.enumerated() where line.hasPrefix("```") {
            if let begin = start {
                let content = (begin + 1)..<index
                // A block within a list is indented as a whole.
                let indentation = source[begin].prefix { $0 == " " }.count
                blocks.append(
                    Block(
                        language: String(lines[begin].dropFirst(3)),
                        line: begin + 1,
                        text: lines[content].joined(separator: "\n"),
                        source: source[content].map { $0.dropFirst(indentation) }.joined(separator: "\n")
                    )
                )
                start = nil
            } else {
                start = index
            }
        }
        return blocks
    }
}
