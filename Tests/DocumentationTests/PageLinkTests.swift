import Foundation
import Testing

/// Links between pages of a catalog name the file, as the web view of a repository wants it; scripts/docs makes those of `docc` of them.
@Suite struct PageLinkTests {
    @Test(arguments: try Page.all())
    func everyLinkLeadsToAFile(_ page: Page) throws {
        let folder = Page.root.appending(path: page.path).deletingLastPathComponent()
        let links = page.text.matches(of: /\]\(([^):#]+)(?:#[^)]*)?\)/).map { String($0.1) }
        for link in links {
            let target = folder.appending(path: link).standardized
            #expect(FileManager.default.fileExists(atPath: target.path), "\(page.path): \(link)")
        }
        // Only `docc` knows these.
        #expect(!page.text.contains("<doc:"), "\(page.path)")
    }

    @Test(arguments: try Page.all().filter { $0.path.contains("/Documentation.docc/") })
    func linksOfACatalogStayInIt(_ page: Page) throws {
        let end = try #require(page.path.firstRange(of: "/Documentation.docc/")).upperBound
        let catalog = Page.root.appending(path: String(page.path[..<end])).standardized.path
        let folder = Page.root.appending(path: page.path).deletingLastPathComponent()
        for link in page.text.matches(of: /\]\(([^):#]+\.md)\)/).map({ String($0.1) }) {
            #expect(folder.appending(path: link).standardized.path.hasPrefix(catalog), "\(page.path): \(link)")
        }
    }

    @Test func everyPageOfTheServiceIsOnItsLandingPage() throws {
        let landing = try Page(path: "Sources/PowerSyncService/Documentation.docc/PowerSyncService.md").text
        let names = try Page.files(in: "Sources/PowerSyncService/Documentation.docc", withExtension: "md").map {
            $0.deletingPathExtension().lastPathComponent
        }
        #expect(names.count > 5)
        #expect(names.filter { $0 != "PowerSyncService" && !landing.contains("](\($0).md)") } == [])
    }
}
