// Extensions of the app's own whose names swift-algorithms has as well.
import Foundation
import PowerSync

extension Sequence where Element: Hashable {
    func uniqued() -> [Element] { var seen = Set<Element>(); return filter { seen.insert($0).inserted } }
}
extension Collection {
    func indexed() -> [(index: Int, element: Element)] { [] }
}
func show(_ names: [String]) {
    let once = names.uniqued()
    print(once, names.map { $0.lowercased() }.uniqued().sorted())
    for (index, name) in names.indexed() { print(index, name) }
}
