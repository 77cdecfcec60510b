"""The closed sets of values that books, filters and jobs share."""

from typing import Literal, get_args

ProficiencyLevel = Literal["A1", "A2", "B1", "B2", "C1", "C2"]
TeachingLayer = Literal["L1", "L2", "L3", "L4"]
HardwareTier = Literal[1, 2, 3, 4]
IngestionMode = Literal["incremental", "full", "recreate"]
JobStatus = Literal["queued", "running", "completed", "failed"]

PROFICIENCY_LEVELS: tuple[str, ...] = get_args(ProficiencyLevel)
LAYERS: tuple[str, ...] = get_args(TeachingLayer)
HARDWARE_TIERS: tuple[int, ...] = get_args(HardwareTier)
INGESTION_MODES: tuple[str, ...] = get_args(IngestionMode)

DEFAULT_PROFICIENCY: ProficiencyLevel = "A2"
DEFAULT_LAYER: TeachingLayer = "L1"
DEFAULT_HARDWARE_TIER: HardwareTier = 1
