import Foundation
import Testing

/// Links between pages lead to a page of the same catalog, as `docc` wants it.
@Suite struct PageLinkTests {
    @Test(arguments: try Page.all())
    func everyLinkLeadsToAPageOfTheCatalog(_ page: Page) throws {
        let links = page.text.matches(of: /<doc:([^>]+)>/).map { String($0.1) }
        guard !links.isEmpty else { return }
        // Only pages of catalogs have such links.
        let end = try #require(page.path.firstRange(of: "/Documentation.docc/"))
        let pages = try Page.files(in: String(page.path[..<end.upperBound]), withExtension: "md")
        let names = Set(pages.map { $0.deletingPathExtension().lastPathComponent })
        #expect(links.filter { !names.contains($0) } == [], "\(page.path)")
    }

    @Test func everyPageOfTheServiceIsOnItsLandingPage() throws {
        let landing = try Page(path: "Sources/PowerSyncService/Documentation.docc/PowerSyncService.md").text
        let names = try Page.files(in: "Sources/PowerSyncService/Documentation.docc", withExtension: "md").map {
            $0.deletingPathExtension().lastPathComponent
        }
        #expect(names.count > 5)
        #expect(names.filter { $0 != "PowerSyncService" && !landing.contains("<doc:\($0)>") } == [])
    }
}
