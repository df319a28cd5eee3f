"""Random family trees and graphs, and the published tasks over them; benchmarks and tests draw from these."""
